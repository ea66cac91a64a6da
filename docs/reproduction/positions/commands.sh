heedful reproduce positions multi30k --steps 3000 --threads 1 --miniature --device cpu
