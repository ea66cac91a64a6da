heedful reproduce figures --threads 1 --device cpu
