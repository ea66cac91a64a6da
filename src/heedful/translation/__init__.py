"""Text to text: what comes before a search and after it. Knows no page, no server and no command."""
