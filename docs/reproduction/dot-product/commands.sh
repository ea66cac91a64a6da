heedful reproduce dot-product
heedful reproduce dot-product --threads 1
