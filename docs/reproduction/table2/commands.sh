heedful reproduce table2 base-en-de --source newstest2014.en-de.en.gz --reference newstest2014.en-de.de.gz
