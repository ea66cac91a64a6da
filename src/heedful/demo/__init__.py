"""The demo from beginning to end: text, corpus, run, scores, page. A stage that is done is not done again."""
