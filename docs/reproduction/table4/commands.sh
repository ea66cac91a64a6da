heedful reproduce table4 gum/1022/gum-1022 --reference dev.ptb.gz --baseline gum/1022/dev/PCFG.ptb
heedful reproduce table4 gum/2556/gum-2556 --reference dev.ptb.gz --baseline gum/2556/dev/PCFG.ptb
heedful reproduce table4 gum/5112/gum-5112 --reference dev.ptb.gz --baseline gum/5112/dev/PCFG.ptb
heedful reproduce table4 gum/10224/gum-10224 --reference dev.ptb.gz --baseline gum/10224/dev/PCFG.ptb
heedful reproduce table4 small/10224/gum-10224 --reference dev.ptb.gz --baseline small/10224/dev/PCFG.ptb
heedful reproduce table4 medium/10224/gum-10224 --reference dev.ptb.gz --baseline medium/10224/dev/PCFG.ptb
heedful reproduce table4 medium/10224/gum-10224 --reference test.ptb.gz
