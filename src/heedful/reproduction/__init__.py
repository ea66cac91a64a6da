"""The paper's tables and figures, measured again (`heedful reproduce`): each a module with `measured` and `page`."""
