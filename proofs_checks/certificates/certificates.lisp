; Instances that refute the printed statements, each pinned to the SHA-256 of its statement and
; the definitions; the two sides at what is missed by most, `free` where they hold a constant that
; the paper says exists; and a harmless instance, on which the printed statement is proved.

(certificate lem:telescoping
  (statement "32295804f8ca06ff1bd671942d5a6d19724fcfcabeee727d9b705ce3c8bc835d")
  (margin 9/10) (sides -1 0)
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 1))) (s0 0) (a0 0) (Q (list (list 0))) (d (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 0))) (s0 0) (a0 0) (Q (list (list 2))) (d (list (list 1)))))

(certificate app.value-function-discount
  (statement "86e9ec909358d306022441a6af6a7c971f5daf7b600186155c8d16af4a596d9b")
  (margin 1/5) (sides 1 5/4)
  (instance (beta 1/2) (h 1) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1)))
    (W (list 2)))
  (harmless (beta 1/2) (h 2) (r (list (list (log 1/4) (log 3/4)))) (P (list (list (list 1) (list
    1)))) (pi (list (list 1/4 3/4))) (W (list 0))))

(certificate setup.Q-star-bounded
  (statement "0fcfe2cea4137badb8f9319b0bc27effd486c67a02ea87098f8c8fba370d3d12")
  (margin 0) (sides free free)
  (instance (beta 1/2) (r (list (list M))) (P (list (list (list 1)))) (Q (list (list (* 2 M)))))
  (harmless (M 2) (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2)))))

(certificate setup.ddc-policy-class
  (statement "460d19ed56e081fe105b8f9ab8a71c85a00cecc481bd64b7080146bcfe54edae")
  (margin 1) (sides 1.3862943611198906188 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2)))) (W (list 0)) (pi (list (list 1 0))) (U (list 0)))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2))) (W (list
    2)) (pi (list (list 1))) (U (list 2))))

(certificate thm:MagnacThesmar.proof-step
  (statement "1af3166a66ea311fcd866d0cdf40043390fff586876bc5e2cfe23f36488a89b3")
  (margin 1/2) (sides 0.69314718055994530942 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (anchor (list 0))
    (Q (list (list (log 2) (log 2)))) (other (list (list (log 2) 0))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (anchor (list 0)) (Q (list
    (list 2))) (other (list (list 2)))))

(certificate eq:zeta-reparametrisation
  (statement "080e26071d1141a6bb82bb3282b5fefcaa5c7754e48c8a272d6868f824c24447")
  (margin 1/2) (sides -1/4 -1)
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (Q (list (list 0))) (zeta
    (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1 1/2))) (P (list (list (list 1) (list 1)))) (Q (list (list
    2 1))) (zeta (list (list 0 0)))))

(certificate eq:BC.p-hat
  (statement "d60572dcc54d6ad1b4b932650d676abb84f1f6bb21234c6902bba409da7fe42f")
  (margin 19/10) (sides -1 0.95257412682243321912)
  (instance (q (list 1 -2)))
  (harmless (q (list 5 5))))

(certificate app.pi-star-ratio
  (statement "50b3d8024242bec8207eee6617691738031ea94a71102477d854017c08a968a4")
  (margin 19/10) (sides -1 0.95257412682243321912)
  (instance (beta 1/2) (r (list (list 1 -2) (list (log 1/2) (log 1/2)))) (P (list (list (list 0 1)
    (list 0 1)) (list (list 0 1) (list 0 1)))) (Q (list (list 1 -2) (list (log 1/2) (log 1/2)))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2))))))

(certificate eq:expzeta
  (statement "430113b90c166e77311f5c68d3f07c56653fdd3a01cbee9794046f3a8fe950f6")
  (margin 49/100) (sides 1/2 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (Qstar (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (anchor 0) (Q (list (list 0
    0))) (zeta (list (list (log 2) (+ 1 (log 2))))))
  (harmless (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (nu (list 1)) (Qstar (list
    (list 0))) (d (list (list 1))) (anchor 0) (Q (list (list 3))) (zeta (list (list 3)))))

(certificate intro.reward-no-extra-cost
  (statement "6b98a9230385294ee03e682f1b8d57574144cb7f2faebda31deae02c3bdf7aef")
  (margin 1/5) (sides 1/4 0)
  (instance (beta 1/2) (chance (list 1/2 1/2)) (v (list 0 2)) (q (- (log 1/2))) (r (- (log 2)
    1/2)))
  (harmless (beta 1/2) (chance (list 1)) (v (list 2)) (q 1) (r 0)))

(certificate intro.true-parameter
  (statement "6f4afbf06b13a74778e4b07911d76bfb3c808eccb752824beba9fce485810f3a")
  (margin 9/10) (sides 1 0)
  (instance (Phi (list (list 1 1))) (truth (list 2 0)) (start (list 0 0)) (steps (list 1)) (theta
    (list 1 1)))
  (harmless (Phi (list (list 1 0) (list 1 1))) (truth (list 2 -1)) (start (list 0 0)) (steps (list
    3 -1)) (theta (list 2 -1))))

(certificate remark.full-column-rank
  (statement "268dfceee1ef65151382e2d834b0ce988855e2b836fd6b795708a26350c6312f")
  (margin 1) (sides 2 4)
  (instance (all-rows (list (list 1 1 0 0) (list 0 0 1 1) (list 1 0 0 0) (list 0 0 1 0) (list 1 1
    0 0) (list 0 0 1 1))) (points (list 0 1 4 5)))
  (harmless (all-rows (list (list 1 1) (list 1 0))) (points (list 0 1))))

(certificate intro.unique-saddle
  (statement "e56c7296988b5e048e3226d8f235f45c44bd8d407d467e65d4a1deb1c5000c87")
  (margin 11/25) (sides 0.24314718055994530942 0.69314718055994530942)
  (instance (beta 19/20) (r (list (list (* -19/20 (log 2)) (* -19/20 (log 2))))) (P (list (list
    (list 1) (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2)))
    (other (list (list 1 1))))
  (harmless (beta 1/4) (r (list (list (* -1/4 (log 2)) (* -1/4 (log 2))))) (P (list (list (list 1)
    (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2))) (other
    (list (list 1 1)))))

(certificate lem:logsumexp_Shannon.proof-step
  (statement "e27aaa69d1a0c64577639615c3ac63d89c4cae99e72499c67814a0523a2f1c0e")
  (margin 3/10) (sides -0.30685281944005469058 0)
  (instance (x (list 0 0)) (tau 1))
  (harmless (x (list 1)) (tau 1)))

(certificate related.polyhedral
  (statement "ca8eb95057e01b75b08434bbd4a66823046119dbe038fb977040fc6fa37a4a82")
  (margin 1/10) (sides 2.6265233750364456681 2.5064088680781681435)
  (instance (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    0 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 V1) (share 1/2))
  (harmless (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    2 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 (list (+ 2 (* 2 (log (+ 1 (exp 1)))))))
    (share 1/2)))

(certificate rem:counterfactual-without-P
  (statement "cea1b0b67e69172bdb950b2a9417ab2211568ab07f87d01aea4a68046d22bb99")
  (margin 1/10) (sides 3/4 0.89076822742696407199)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list (+ 1 (log 3)) 0))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (let (v (* 2 (log (+ 1
    (* 3 (exp 1)))))) (list (list (+ 1 (log 3) (/ v 2)) (/ v 2))))) (C (let (v (* 2 (+ 1/2 (log
    4)))) (list (list (+ -1/2 1 (log 3) (/ v 2)) (+ 1/2 (/ v 2)))))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list 1 1))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (list (list (+ 2 (log 2)) (+ 2
    (log 2))))) (C N)))

(certificate lem:anchor_overlap_logit.finite-horizon
  (statement "7fd652969a7e233a39efbcd84e9ea67e6f5e783018690462ceadf13dd3ef3614")
  (margin 2/5) (sides 0 1/2)
  (instance (beta 9/10) (r (list (list (* -9/10 (log 2)) (* -9/10 (log 2))) (list (* -9/10 (log
    2)) (* -9/10 (log 2))))) (P (list (list (list 0 1) (list 1 0)) (list (list 0 1) (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 0 0) (list 0 0))) (H 1) (laws (list (list 1 0) (list 1/2
    1/2))))
  (harmless (beta 1/2) (r (list (list (* -1/2 (log 2)) (* -1/2 (log 2))))) (P (list (list (list 1)
    (list 1)))) (anchor (list 0)) (Q (list (list 0 0))) (H 1) (laws (list (list 1) (list 1)))))

(certificate prop:linConvergence.two-sided-PL
  (statement "afcc350e5b18d9c2133f3289c22bb706ae5add35e06766fe0784c03257074175")
  (margin 0) (sides 0 free)
  (instance (beta 19/20) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (* -19/20
    (log 2)))) (zeta (list (log 2))) (theta (list 0 0)) (other (list 1 1)))
  (harmless (mu 1) (beta 1/4) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (zeta
    (list 0)) (theta (list 1)) (other (list 0))))

(certificate prop:linConvergence.single-stepsize
  (statement "42c8e25cce81bd3d0924cf0063c5795382b16700518f37ba39cd6299864fade0")
  (margin 2/5) (sides 0.45890079933671736718 0)
  (instance (beta 7/10) (r 0) (theta 0) (scale 1/2) (cubic 1))
  (harmless (beta 1/4) (r 0) (theta 0) (scale 2) (cubic 0)))

(certificate prop:linConvergence.strong-concavity
  (statement "e25825574859eba8454931d6147e8f5f072a2d45ad62601f0bf404983ffb134e")
  (margin 0) (sides 0 free)
  (instance (beta 19/20) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (Q (list (list
    0))) (features (list (list 1 1))) (phi (list 0 0)) (other (list 1 -1)) (pairs (list 0)))
  (harmless (rho 361/200) (beta 19/20) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0))
    (Q (list (list 0))) (features (list (list 1))) (phi (list 0)) (other (list 1)) (pairs (list
    0))))

(certificate lem:lipsSmooth.hessian-of-V
  (statement "2826744502051df7afa2eba7030caf0a3c59e2ac709dedc5bc33e861bc7b1f13")
  (margin 2/5) (sides 1/2 0)
  (instance (q (list 0 0)) (G (list (list 1) (list 1))) (h (list 1)))
  (harmless (q (list 1)) (G (list (list 2))) (h (list 1))))

(certificate lem:lipsSmooth.NLL-bound
  (statement "c2646695223baa8e81489458f3dd8945b41d474d2de507ae0670ae0f18f333ae")
  (margin 2/5) (sides 1 1/2)
  (instance (n (list (list (list 1) (list 0)))) (q (list (list 0 0))) (slopes (list (list (list 1)
    (list -1)))) (bends (list (list (list (list 0)) (list (list 0))))) (h (list 1)) (B 1) (B2 0))
  (harmless (n (list (list (list 1) (list 0) (list 0) (list 0)))) (q (list (list 0 0 -30 -30)))
    (slopes (list (list (list 1) (list -1) (list 0) (list 0)))) (bends (list (vec a 4 (list (list
    0))))) (h (list 1)) (B 1) (B2 0)))

(certificate lem:EmpLipschitz
  (statement "3f606a66066390460a78a804ee96a84bbadbd7fb198a17c42026e10dd9021cc9")
  (margin 3/4) (sides 16.971594155955764888 1621/100)
  (instance (beta 19/20) (n (list (list (list 0 1) (list 0 0)) (list (list 0 0) (list 0 0))))
    (anchor (list 0 0)) (r (list (- 39/20 (* 19/20 (log 2))) 0)) (largest-reward (- 39/20 (* 19/20
    (log 2)))) (q (list (list -1 1) (list 1 1))) (slopes (list (list (list -1) (list 1)) (list
    (list 1) (list 1)))) (corners (list (list 0) (list -2))) (B 1) (M 39/10))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (largest-reward
    0) (q (list (list 1))) (slopes (list (list (list 1)))) (corners (list (list 0))) (B 1) (M
    3/2)))

(certificate lem:lipsSmooth.L-theta
  (statement "dd4d0b792be69a130e85c0a42623631ab6bc9a02232e9387f27540cdafd0931b")
  (margin 11) (sides 76 64.780565330455350646)
  (instance (beta 19/20) (n (list (list (list 0 1) (list 0 0)) (list (list 0 0) (list 0 0))))
    (anchor (list 0 0)) (r (list (- 20 (* 19/20 (log 2))) 0)) (largest-reward (+ 20 (* 19/20 (log
    2)))) (q (list (list -20 20) (list 0 0))) (slopes (list (list (list 0 -1) (list 0 1)) (list
    (list 1 0) (list -1 0)))) (bends (vec s 2 (vec a 2 (vec i 2 (list 0 0))))) (corners (list
    (list -1 0) (list 1 0) (list -1 -40) (list 1 -40))) (h (list 1 0)) (B 1) (B2 0) (M (+ 40 (*
    19/20 (+ (log 2) (log (+ (exp 20) (exp -20))))))))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (largest-reward
    0) (q (list (list 0))) (slopes (list (list (list 1)))) (bends (list (list (list (list 0)))))
    (corners (list (list 0))) (h (list 1)) (B 1) (B2 0) (M 0)))

(certificate lem:lipsSmooth.L-zeta
  (statement "58e5d6d40ec1a20486866d0271a58c8832bb4d199a741dd38a65b5ca9bceb92f")
  (margin 1/10) (sides 1083/1000 19/20)
  (instance (beta 19/20) (n (list (list (list 60) (list 40)))) (anchor (list 0)) (r (list 0)) (Q
    (list (list 0 0))) (first (list 0)) (second (list 1)))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (Q (list (list
    0))) (first (list 0)) (second (list 1))))

(certificate sec:occupancy.conclusion
  (statement "eda760456a998f0b33ab5845434cd7f69b62dfc2f0faa66369b0b69e53129e72")
  (margin 1/2) (sides 0 1)
  (instance (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (list (list (list 0 1)
    (list 0 1)) (list (list 1 0) (list 1 0)))) (nu (list 1 0)) (pi (list (list 1/4 3/4) (list 1/4
    3/4))) (rival pi) (d (list (list 1/6 1/2) (list 1/12 1/4))) (Q (vec s 2 (vec a 2 (+ (r s a) (*
    3/4 (log 3)))))))
  (harmless (beta 1/2) (r (list (list 0 0) (list 1 0))) (P (list (list (list 1 0) (list 0 1))
    (list (list 0 1) (list 0 1)))) (nu (list 1 0)) (pi (list (list 1 0) (list 1/2 1/2))) (rival
    (list (list 1 0) (list 1 0))) (d (list (list 1 0) (list 0 0))) (Q (list (list 0 1) (list 2
    1)))))

(certificate text.state-space-size
  (statement "fe14fafe58c25b1895eb4e5b804b3fd45f5ef5a527def7a481bdb8e20a814547")
  (margin 2) (sides 132.22192947339192680 130.10299956639811952)
  (instance (limit 10) (K 100))
  (harmless (limit 10) (K 0)))

(certificate tab.mlirl-r-versus-Q
  (statement "4b2692fcbaae79342a72206af75b3ad3ef3d8813eaa28dd050863bf7e942575a")
  (margin 1/1000) (sides 0.0028827101663249890222 63/40000)
  (instance (beta 19/20) (half 1/2000) (single 1/10000) (r (list (list -1013/1000 -5043/1000)
    (list -1013/500 -5043/1000) (list -3039/1000 -5043/1000) (list -1013/250 -5043/1000) (list
    -1013/200 -5043/1000) (list -3039/500 -5043/1000) (list -7091/1000 -5043/1000) (list -1013/125
    -5043/1000) (list -9117/1000 -5043/1000) (list -1013/100 -5043/1000))) (Q (list (list
    -5311/100 -11081/200) (list -54423/1000 -11081/200) (list -27789/500 -11081/200) (list
    -56649/1000 -11081/200) (list -14421/250 -11081/200) (list -11741/200 -11081/200) (list
    -59721/1000 -11081/200) (list -12147/200 -11081/200) (list -15437/250 -11081/200) (list
    -1569/25 -11081/200))) (theta (list 1012541/1000000 5041611/1000000)))
  (harmless (beta 19/20) (half 1/2000) (single 1/10000) (r (list (list -959/1000 -4777/1000) (list
    -959/500 -4777/1000) (list -2877/1000 -4777/1000) (list -959/250 -4777/1000) (list -959/200
    -4777/1000) (list -5753/1000 -4777/1000) (list -839/125 -4777/1000) (list -7671/1000
    -4777/1000) (list -863/100 -4777/1000) (list -9589/1000 -4777/1000))) (Q (list (list
    -12479/250 -6512/125) (list -10233/200 -6512/125) (list -26133/500 -6512/125) (list -26643/500
    -6512/125) (list -5427/100 -6512/125) (list -55239/1000 -6512/125) (list -28101/500 -6512/125)
    (list -28581/500 -6512/125) (list -29061/500 -6512/125) (list -59081/1000 -6512/125))) (theta
    (list 479461/500000 4777533/1000000))))

(certificate tab.gladius-r-versus-Q
  (statement "7c7dc69e3ba2bf31bcb0cb556afb102e276b9106694a980f018aeccf84dafaa9")
  (margin 1/100) (sides 0.012370498822693534876 63/40000)
  (instance (beta 19/20) (half 1/2000) (single 1/10000) (r (list (list -537/500 -4999/1000) (list
    -989/500 -5001/1000) (list -621/200 -5) (list -961/250 -5001/1000) (list -2439/500 -5001/1000)
    (list -3321/500 -5001/1000) (list -4203/500 -5001/1000) (list -1017/100 -5001/1000) (list
    -5967/500 -5001/1000) (list -3421/250 -2501/500))) (Q (list (list -53059/1000 -55311/1000)
    (list -5427/100 -6914/125) (list -13887/250 -6914/125) (list -14089/250 -6914/125) (list
    -57419/1000 -6914/125) (list -7398/125 -6914/125) (list -1219/20 -6914/125) (list -12543/200
    -6914/125) (list -64481/1000 -6914/125) (list -16557/250 -13827/250))))
  (harmless (beta 19/20) (half 1/2000) (single 1/10000) (r (list (list -193/200 -1203/250) (list
    -1931/1000 -1203/250) (list -362/125 -1203/250) (list -3861/1000 -1203/250) (list -4827/1000
    -1203/250) (list -724/125 -1203/250) (list -6757/1000 -1203/250) (list -3861/500 -1203/250)
    (list -1086/125 -1203/250) (list -9653/1000 -1203/250))) (Q (list (list -50327/1000
    -52523/1000) (list -6448/125 -52523/1000) (list -52691/1000 -52523/1000) (list -26859/500
    -52523/1000) (list -13677/250 -52523/1000) (list -55683/1000 -52523/1000) (list -14163/250
    -52523/1000) (list -57619/1000 -52523/1000) (list -11717/200 -52523/1000) (list -1191/20
    -52523/1000)))))

(certificate tab.mape-from-tables
  (statement "8183d7e7a1372bd0e1a5a999a4d121df7c052efd486a2d11e0a2a5c8cedc524f")
  (margin 2/5) (sides 363397033/335949600 129/200)
  (instance (r (list (list -1013/1000 -5043/1000) (list -1013/500 -5043/1000) (list -3039/1000
    -5043/1000) (list -1013/250 -5043/1000) (list -1013/200 -5043/1000) (list -3039/500
    -5043/1000) (list -7091/1000 -5043/1000) (list -1013/125 -5043/1000) (list -9117/1000
    -5043/1000) (list -1013/100 -5043/1000))) (truth (list (list -1 -5) (list -2 -5) (list -3 -5)
    (list -4 -5) (list -5 -5) (list -6 -5) (list -7 -5) (list -8 -5) (list -9 -5) (list -10 -5)))
    (visited (list (list 7994 804) (list 1409 541) (list 1060 1296) (list 543 1991) (list 274
    2435) (list 35 829) (list 8 476) (list 1 218) (list 0 73) (list 0 10))) (half (list (list
    1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000
    1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000)
    (list 1/2000 1/2000))) (reported 16/25) (se 12/25) (half-reported 1/200))
  (harmless (r (list (list -1 -5013/1000) (list -387/200 -5001/1000) (list -1483/500 -5) (list
    -1999/500 -2501/500) (list -2483/500 -2501/500) (list -738/125 -2501/500) (list -6769/1000
    -2501/500) (list -7633/1000 -5003/1000) (list -8497/1000 -5003/1000) (list -9361/1000
    -1251/250))) (truth (list (list -1 -5) (list -2 -5) (list -3 -5) (list -4 -5) (list -5 -5)
    (list -6 -5) (list -7 -5) (list -8 -5) (list -9 -5) (list -10 -5))) (visited (list (list 7994
    804) (list 1409 541) (list 1060 1296) (list 543 1991) (list 274 2435) (list 35 829) (list 8
    476) (list 1 218) (list 0 73) (list 0 10))) (half (list (list 1/2000 1/2000) (list 1/2000
    1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000)
    (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000)))
    (reported 13/25) (se 11/50) (half-reported 1/200)))

(certificate text.who-is-better-where
  (statement "a35ee7cfb40f730ddddeea77e8384db9b3deeebf8a49f7645f70be57d6af1199")
  (margin 1/100) (sides 2018099/553200 2006771/553200)
  (instance (ours (list (list -537/500 -4999/1000) (list -989/500 -5001/1000) (list -621/200 -5)
    (list -961/250 -5001/1000) (list -2439/500 -5001/1000))) (theirs (list (list -193/200
    -1203/250) (list -1931/1000 -1203/250) (list -362/125 -1203/250) (list -3861/1000 -1203/250)
    (list -4827/1000 -1203/250))) (truth (list (list -1 -5) (list -2 -5) (list -3 -5) (list -4 -5)
    (list -5 -5))) (visited (list (list 412 37) (list 65 18) (list 43 80) (list 24 101) (list 8
    134))) (half (list (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000
    1/2000) (list 1/2000 1/2000))) (half-theirs (list (list 1/2000 1/2000) (list 1/2000 1/2000)
    (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000))))
  (harmless (ours (list (list -1 -5013/1000) (list -387/200 -5001/1000) (list -1483/500 -5) (list
    -1999/500 -2501/500) (list -2483/500 -2501/500))) (theirs (list (list -253/250 -5033/1000)
    (list -2023/1000 -5033/1000) (list -607/200 -5033/1000) (list -4047/1000 -5033/1000) (list
    -2529/500 -5033/1000))) (truth (list (list -1 -5) (list -2 -5) (list -3 -5) (list -4 -5) (list
    -5 -5))) (visited (list (list 7994 804) (list 1409 541) (list 1060 1296) (list 543 1991) (list
    274 2435))) (half (list (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list
    1/2000 1/2000) (list 1/2000 1/2000))) (half-theirs (list (list 1/2000 1/2000) (list 1/2000
    1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000)))))

(certificate text.action-zero
  (statement "411d3d4fb40987e2ccb8beb0fb02f6813d0ebccf2af8029cfd7b6dfaa2942d4d")
  (margin 2) (sides -1 -5)
  (instance (beta 19/20) (half 1/2000) (theta-1 5) (r (list (list -1 -5) (list -2 -5) (list -3 -5)
    (list -4 -5) (list -5 -5) (list -6 -5) (list -7 -5) (list -8 -5) (list -9 -5) (list -10 -5)))
    (Q (list (list -26267/500 -10963/200) (list -26917/500 -10963/200) (list -54977/1000
    -10963/200) (list -56037/1000 -10963/200) (list -2853/50 -10963/200) (list -58069/1000
    -10963/200) (list -7384/125 -10963/200) (list -30037/500 -10963/200) (list -30537/500
    -10963/200) (list -31037/500 -10963/200))) (x 0) (e 0))
  (harmless (beta 19/20) (half 1/2000) (theta-1 5) (r (list (list -5 -5))) (Q (list (list (* 20 (-
    (* 19/20 (log 2)) 5)) (* 20 (- (* 19/20 (log 2)) 5))))) (x 0) (e 0)))

(certificate text.bc-consistently-better
  (statement "e74694156fad9a0560923808e6f0c0b45f6ef805e37479518b25dce58f9435bf")
  (margin 3) (sides -98/25 0)
  (instance (bc (list 5169/50 5223/50 10599/100 10701/100 5371/50 100 100 100 100 100 2514/25
    405/4 2452/25 391/4 9533/100)) (erm-irl (list 1073/10 2666/25 1011/10 5223/50 10611/100 100
    100 100 100 100 10367/100 10219/100 10067/100 9907/100 193/2)) (sign (list 1 1 1 1 1 1 1 1 1 1
    -1 -1 -1 -1 -1)) (i 0))
  (harmless (bc (list 5169/50 5223/50 10599/100 10701/100 5371/50 100 100 100 100 100 2514/25
    405/4 2452/25 391/4 9533/100)) (erm-irl (list 1073/10 2666/25 1011/10 5223/50 10611/100 100
    100 100 100 100 10367/100 10219/100 10067/100 9907/100 193/2)) (sign (list 1 1 1 1 1 1 1 1 1 1
    -1 -1 -1 -1 -1)) (i 2)))
