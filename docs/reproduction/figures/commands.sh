heedful reproduce figures base-en-de --threads 1 --device cpu
