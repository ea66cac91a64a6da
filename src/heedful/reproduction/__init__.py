"""The paper's tables and figures, measured again: one command each (`heedful reproduce`)."""
