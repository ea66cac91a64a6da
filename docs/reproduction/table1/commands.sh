heedful reproduce table1
heedful reproduce table1 --threads 1
