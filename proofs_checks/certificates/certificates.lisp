; Instances that refute the printed statements, each pinned to the SHA-256 of its statement and
; the definitions; the two sides at what is missed by most, `free` where they hold a constant that
; the paper says exists; and a harmless instance, on which the printed statement is proved.

(certificate lem:telescoping
  (statement "6a0204653d00e977dc89042d1711f361956a4cedc4c0b6b8d1bfaad13118b58d")
  (margin 9/10) (sides -1 0)
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 1))) (s0 0) (a0 0) (Q (list (list 0))) (d (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 0))) (s0 0) (a0 0) (Q (list (list 2))) (d (list (list 1)))))

(certificate app.value-function-discount
  (statement "f26b55f7e26a7b3df7ab041e783fc0bab0e61affb01288ad0972b13ec18d8f5c")
  (margin 1/5) (sides 1 5/4)
  (instance (beta 1/2) (h 1) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1)))
    (W (list 2)))
  (harmless (beta 1/2) (h 2) (r (list (list (log 1/4) (log 3/4)))) (P (list (list (list 1) (list
    1)))) (pi (list (list 1/4 3/4))) (W (list 0))))

(certificate setup.Q-star-bounded
  (statement "76feb011ebe38a9e8b2c0e76eaf03807e811a803069d72d2e1116d17c100ff4c")
  (margin 0) (sides free free)
  (instance (beta 1/2) (r (list (list M))) (P (list (list (list 1)))) (Q (list (list (* 2 M)))))
  (harmless (M 2) (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2)))))

(certificate setup.ddc-policy-class
  (statement "55b93cfb432c7fcb32dbad168fb2d73235d4845277dbde01a0295814dec90197")
  (margin 1) (sides 1.3862943611198906188 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2)))) (W (list 0)) (pi (list (list 1 0))) (U (list 0)))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2))) (W (list
    2)) (pi (list (list 1))) (U (list 2))))

(certificate thm:MagnacThesmar.proof-step
  (statement "5f6431b69677ab6e5e52098de65a94fb79fa68c5d894a38d74f1304eb671d68c")
  (margin 1/2) (sides 0.69314718055994530942 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (anchor (list 0))
    (Q (list (list (log 2) (log 2)))) (other (list (list (log 2) 0))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (anchor (list 0)) (Q (list
    (list 2))) (other (list (list 2)))))

(certificate eq:zeta-reparametrisation
  (statement "a4b3eba9800386e7370508fcd8163f3ca6098337b2a60c78fb9e70677f709531")
  (margin 1/2) (sides -1/4 -1)
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (Q (list (list 0))) (zeta
    (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1 1/2))) (P (list (list (list 1) (list 1)))) (Q (list (list
    2 1))) (zeta (list (list 0 0)))))

(certificate eq:BC.p-hat
  (statement "0aefaa2bea7f8674aab6e2efc4acd81b75cd540effa06b26a63342fc6921a5db")
  (margin 19/10) (sides -1 0.95257412682243321912)
  (instance (q (list 1 -2)))
  (harmless (q (list 5 5))))

(certificate app.pi-star-ratio
  (statement "dc18bd910988c81f3ed944e8bd3977678899a4768f06dde5b1b615d41d844b04")
  (margin 19/10) (sides -1 0.95257412682243321912)
  (instance (beta 1/2) (r (list (list 1 -2) (list (log 1/2) (log 1/2)))) (P (list (list (list 0 1)
    (list 0 1)) (list (list 0 1) (list 0 1)))) (Q (list (list 1 -2) (list (log 1/2) (log 1/2)))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2))))))

(certificate eq:expzeta
  (statement "045db3fb58835767d04f2253ff9cf099dc675ab1183090865997ee5438b4527a")
  (margin 49/100) (sides 1/2 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (Qstar (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (anchor 0) (Q (list (list 0
    0))) (zeta (list (list (log 2) (+ 1 (log 2))))))
  (harmless (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (nu (list 1)) (Qstar (list
    (list 0))) (d (list (list 1))) (anchor 0) (Q (list (list 3))) (zeta (list (list 3)))))

(certificate intro.reward-no-extra-cost
  (statement "99314a8dadce080bc0364cacffa0e9103c85635cc9b4960f5343c4e648bce4cd")
  (margin 1/5) (sides 1/4 0)
  (instance (beta 1/2) (chance (list 1/2 1/2)) (v (list 0 2)) (q (- (log 1/2))) (r (- (log 2)
    1/2)))
  (harmless (beta 1/2) (chance (list 1)) (v (list 2)) (q 1) (r 0)))

(certificate intro.true-parameter
  (statement "6652d5bdd69e72e26864714f087bd9937bfa5de520895fc4f32bbfa900b4f405")
  (margin 9/10) (sides 1 0)
  (instance (Phi (list (list 1 1))) (truth (list 2 0)) (start (list 0 0)) (steps (list 1)) (theta
    (list 1 1)))
  (harmless (Phi (list (list 1 0) (list 1 1))) (truth (list 2 -1)) (start (list 0 0)) (steps (list
    3 -1)) (theta (list 2 -1))))

(certificate remark.full-column-rank
  (statement "19b8d5ebf0755257923814c6e80e241c883c8a4caae88662bc9c7df374853342")
  (margin 1) (sides 2 4)
  (instance (all-rows (list (list 1 1 0 0) (list 0 0 1 1) (list 1 0 0 0) (list 0 0 1 0) (list 1 1
    0 0) (list 0 0 1 1))) (points (list 0 1 4 5)))
  (harmless (all-rows (list (list 1 1) (list 1 0))) (points (list 0 1))))

(certificate intro.unique-saddle
  (statement "b1ead186046f0080a709aaa8f0a358dc4159c3490644bb6e8fa834df5d22e5ea")
  (margin 11/25) (sides 0.24314718055994530942 0.69314718055994530942)
  (instance (beta 19/20) (r (list (list (* -19/20 (log 2)) (* -19/20 (log 2))))) (P (list (list
    (list 1) (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2)))
    (other (list (list 1 1))))
  (harmless (beta 1/4) (r (list (list (* -1/4 (log 2)) (* -1/4 (log 2))))) (P (list (list (list 1)
    (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2))) (other
    (list (list 1 1)))))

(certificate lem:logsumexp_Shannon.proof-step
  (statement "6e633e471ee4f40855804ab9523eb959d5fcb0e3c04a6bd9bf312bec3d11fd19")
  (margin 3/10) (sides -0.30685281944005469058 0)
  (instance (x (list 0 0)) (tau 1))
  (harmless (x (list 1)) (tau 1)))

(certificate related.polyhedral
  (statement "5a3c5c1cf883025df47a128fc830c02f080715ccaa629cb7ba144505569de970")
  (margin 1/10) (sides 2.6265233750364456681 2.5064088680781681435)
  (instance (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    0 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 V1) (weight 1/2))
  (harmless (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    2 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 (list (+ 2 (* 2 (log (+ 1 (exp 1)))))))
    (weight 1/2)))

(certificate rem:counterfactual-without-P
  (statement "49401846ae18e9935fcc2d50f055d59f1e73df1703260ee513d4c89ea1b426f6")
  (margin 1/10) (sides 3/4 0.89076822742696407199)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list (+ 1 (log 3)) 0))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (let (v (* 2 (log (+ 1
    (* 3 (exp 1)))))) (list (list (+ 1 (log 3) (/ v 2)) (/ v 2))))) (C (let (v (* 2 (+ 1/2 (log
    4)))) (list (list (+ -1/2 1 (log 3) (/ v 2)) (+ 1/2 (/ v 2)))))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list 1 1))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (list (list (+ 2 (log 2)) (+ 2
    (log 2))))) (C N)))

(certificate lem:anchor_overlap_logit.finite-horizon
  (statement "79319a25135d87ef5134197b79bf7b307c9cfd514ce1c1647ddcd727e6fff133")
  (margin 2/5) (sides 0 1/2)
  (instance (beta 9/10) (r (list (list (* -9/10 (log 2)) (* -9/10 (log 2))) (list (* -9/10 (log
    2)) (* -9/10 (log 2))))) (P (list (list (list 0 1) (list 1 0)) (list (list 0 1) (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 0 0) (list 0 0))) (H 1) (laws (list (list 1 0) (list 1/2
    1/2))))
  (harmless (beta 1/2) (r (list (list (* -1/2 (log 2)) (* -1/2 (log 2))))) (P (list (list (list 1)
    (list 1)))) (anchor (list 0)) (Q (list (list 0 0))) (H 1) (laws (list (list 1) (list 1)))))

(certificate prop:linConvergence.two-sided-PL
  (statement "10195cd3cf6bfb173ce963a1a73d3d5b81db466f34207504446b69dd230b9539")
  (margin 0) (sides 0 free)
  (instance (beta 19/20) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (* -19/20
    (log 2)))) (zeta (list (log 2))) (theta (list 0 0)) (other (list 1 1)))
  (harmless (mu 1) (beta 1/4) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (zeta
    (list 0)) (theta (list 1)) (other (list 0))))

(certificate prop:linConvergence.single-stepsize
  (statement "1c037b083efcda2ecb8cd5e9cf6079d22344d7e1275daf38c4deb6b45968947a")
  (margin 2/5) (sides 0.45890079933671736718 0)
  (instance (beta 7/10) (scale 1/2))
  (harmless (beta 1/4) (scale 2)))

(certificate prop:linConvergence.strong-concavity
  (statement "9878f5f49fcb444430ecad13a8e640da0195fa92f3838351d8d4e171b187a573")
  (margin 0) (sides 0 free)
  (instance (beta 19/20) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list 0)))
    (features (list (list 1 1))) (phi (list 0 0)) (other (list 1 -1)) (pairs (list 0)))
  (harmless (rho 361/200) (beta 19/20) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list
    0))) (features (list (list 1))) (phi (list 0)) (other (list 1)) (pairs (list 0))))

(certificate lem:lipsSmooth.hessian-of-V
  (statement "c31acc89b3d19941620c8459c401f7f0e599cbde48c2e820e6b04a002cc22b1f")
  (margin 2/5) (sides 1/2 0)
  (instance (q (list 0 0)) (G (list (list 1) (list 1))) (h (list 1)))
  (harmless (q (list 1)) (G (list (list 2))) (h (list 1))))

(certificate lem:lipsSmooth.NLL-bound
  (statement "d9fc79806145b07229c9ae2255b7c54c879239d9cb230608e2e5891f9ce49e73")
  (margin 2/5) (sides 1 1/2)
  (instance (n (list (list (list 1) (list 0)))) (q (list (list 0 0))) (slopes (list (list (list 1)
    (list -1)))) (bends (list (list (list (list 0)) (list (list 0))))) (h (list 1)) (B 1) (B2 0))
  (harmless (n (list (list (list 1) (list 0) (list 0) (list 0)))) (q (list (list 0 0 -30 -30)))
    (slopes (list (list (list 1) (list -1) (list 0) (list 0)))) (bends (list (vec a 4 (list (list
    0))))) (h (list 1)) (B 1) (B2 0)))

(certificate lem:EmpLipschitz
  (statement "0b9c4a7b55db6f69a6e573b9d0a7ae536ed25b500c0966f79ae1f34f7efde9d8")
  (margin 3/4) (sides 16.971594155955764888 1621/100)
  (instance (beta 19/20) (n (list (list (list 0 1) (list 0 0)) (list (list 0 0) (list 0 0))))
    (anchor (list 0 0)) (r (list (- 39/20 (* 19/20 (log 2))) 0)) (largest-reward (- 39/20 (* 19/20
    (log 2)))) (q (list (list -1 1) (list 1 1))) (slopes (list (list (list -1) (list 1)) (list
    (list 1) (list 1)))) (corners (list (list 0) (list -2))) (B 1) (M 39/10))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (largest-reward
    0) (q (list (list 1))) (slopes (list (list (list 1)))) (corners (list (list 0))) (B 1) (M
    3/2)))

(certificate lem:lipsSmooth.L-theta
  (statement "710889cc8e5e52f3510de8ad2ad2dab736d7c159bfe0f85e9dd0bc4f9db53ca3")
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
  (statement "6efbebbe18f6a210c5b0b107d92c9131b50f10b67e7ba6dc2c6224b245079a77")
  (margin 1/10) (sides 1083/1000 19/20)
  (instance (beta 19/20) (n (list (list (list 60) (list 40)))) (anchor (list 0)) (Q (list (list 0
    0))) (first (list 0)) (second (list 1)))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list 0))) (first
    (list 0)) (second (list 1))))

(certificate sec:occupancy.conclusion
  (statement "d19811fd1253f8ec8db9329fd85347b0d5c34499bc8b45de31a2cf76207da5bf")
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
  (statement "3b3a02bb662df0e254a05e173a537b138799ddbb2619fccaea6b43f08b5fb7ac")
  (margin 2) (sides 132.22192947339192680 130.10299956639811952)
  (instance (limit 10) (K 100))
  (harmless (limit 10) (K 0)))

(certificate setup.reachable-set
  (statement "b1f1d83cdf9dc7e00dbf0fe3f247526f77f05afd6ee2c86014f8eaf91c28e947")
  (margin 9/10) (sides 0 1)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1)) (Q
    (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (atom (list 0)))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1)) (Q
    (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (atom (list 1))))

(certificate thm:MagnacThesmar
  (statement "5197132eaf2697ba2f32c107bf60556e0c633428cfa7ab9c2a29308aebd10036")
  (margin 9/10) (sides 1 0)
  (instance (beta 1/2) (r (list (list 0) (list 0))) (P (list (list (list 0 1)) (list (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 0) (list 0))) (other (list (list 1) (list 2))) (inside
    (list 1 0)))
  (harmless (beta 1/2) (r (list (list 1) (list 1))) (P (list (list (list 0 1)) (list (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 2) (list 2))) (other Q) (inside (list 1 1))))

(certificate lem:minMLE
  (statement "8dff3cd4399d58e34c8bcf611791bfadfb4bc27ba994aa3e65cb60503e20afd4")
  (margin 7/100) (sides 0.071920518112945231860 0)
  (instance (beta 1/2) (r (list (list 0 0) (list 0 0))) (P (list (list (list 0 1) (list 0 1))
    (list (list 0 1) (list 0 1)))) (nu (list 1 0)) (Q (list (list (log 2) (log 2)) (list (log 2)
    (log 2)))) (d (list (list 1/4 1/4) (list 1/4 1/4))) (member (list (list 0 0) (list (log 3)
    0))) (inside (list 1 0)))
  (harmless (beta 1/2) (r (list (list 0 0) (list 0 0))) (P (list (list (list 0 1) (list 0 1))
    (list (list 0 1) (list 0 1)))) (nu (list 1 0)) (Q (list (list (log 2) (log 2)) (list (log 2)
    (log 2)))) (d (list (list 1/4 1/4) (list 1/4 1/4))) (member (list (list 0 0) (list 3 3)))
    (inside (list 1 1))))

(certificate def:ERM.continuous-states
  (statement "527bde7ec529e32ae90ea42feefaa17031751657c2f48300b8f111d998ed33e0")
  (margin 1/5) (sides 1/4 0)
  (instance (beta 1/2) (gap (list 0)) (mean (list 0)) (noise (list 1)))
  (harmless (beta 1/2) (gap (list 1)) (mean (list 1)) (noise (list 0))))

(certificate alg:estimation1.is-GDA
  (statement "c540532bc5babba9637f77a25c6ca3c41032610752701fbe037bf1b3235cc90d")
  (margin 5) (sides 6 0)
  (instance (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (phi (list (list 1 0)
    (list 0 1))) (chi (list (list 1 0) (list 1 1))) (theta (list (log 1/2) (log 1/2))) (eta (list
    -1 4)))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (phi (list (list 1))) (chi
    (list (list 1))) (theta (list 1)) (eta (list 3))))

(certificate exp.jacobian-condition
  (statement "03abe1db69c7d5e71225c2a45f1baad3e935750d264ef28523223d5473922c72")
  (margin 7000) (sides 172 7456)
  (instance (inputs 3) (hidden 10) (outputs 2) (M 7456))
  (harmless (inputs 1) (hidden 10) (outputs 2) (M 40)))

(certificate prop:linConvergence.quadratic-growth
  (statement "7573c6f5655d147daa1e1b128557ad6857501962b0ce5a8c636230d0abee4c82")
  (margin 0) (sides free free)
  (instance (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (* -1/2 (+ 1
    (log 2))))) (Phi (list (list 1 0 0) (list 0 1 0))) (radius-squared 2) (theta (let (m (/ (* 2
    c) (+ 1 c))) (let (over (+ 1 (* 2 (^ m 2)))) (list (/ (- (* 2 (^ m 2)) 1) over) (/ (- (* 2 (^
    m 2)) 1) over) (/ (* 4 m) over))))) (near (list -1 -1 0)) (p 1/64))
  (harmless (c 1/8) (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (*
    -1/2 (+ 1 (log 2))))) (Phi (list (list 1 0) (list 0 1))) (radius-squared 2) (theta (list 0 0))
    (near (list -1 -1)) (p 1/64)))

(certificate tab.mlirl-r-versus-Q
  (statement "7118f2737ce92cdd22ec32b16d415c136cf95bb847ae9dce39c3ad8d6944aa70")
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
  (statement "bc75a7bcc6a348fb25f69be31fcf2fe59c1789a936d603c52dc826da06261b54")
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
  (statement "3002e3c1ee46dd72d068ca4502caee2226deaec160851fa0a2ad0070a86b5b74")
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
  (statement "3373adddaf1e0852a00cb0a2c0e9e3df0abdb28824adaac137e25cb18b5e8374")
  (margin 1/100) (sides 2018099/553200 2006771/553200)
  (instance (ours (list (list -537/500 -4999/1000) (list -989/500 -5001/1000) (list -621/200 -5)
    (list -961/250 -5001/1000) (list -2439/500 -5001/1000))) (theirs (list (list -193/200
    -1203/250) (list -1931/1000 -1203/250) (list -362/125 -1203/250) (list -3861/1000 -1203/250)
    (list -4827/1000 -1203/250))) (truth (list (list -1 -5) (list -2 -5) (list -3 -5) (list -4 -5)
    (list -5 -5))) (visited (list (list 412 37) (list 65 18) (list 43 80) (list 24 101) (list 8
    134))) (half (list (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000
    1/2000) (list 1/2000 1/2000))))
  (harmless (ours (list (list -1 -5013/1000) (list -387/200 -5001/1000) (list -1483/500 -5) (list
    -1999/500 -2501/500) (list -2483/500 -2501/500))) (theirs (list (list -253/250 -5033/1000)
    (list -2023/1000 -5033/1000) (list -607/200 -5033/1000) (list -4047/1000 -5033/1000) (list
    -2529/500 -5033/1000))) (truth (list (list -1 -5) (list -2 -5) (list -3 -5) (list -4 -5) (list
    -5 -5))) (visited (list (list 7994 804) (list 1409 541) (list 1060 1296) (list 543 1991) (list
    274 2435))) (half (list (list 1/2000 1/2000) (list 1/2000 1/2000) (list 1/2000 1/2000) (list
    1/2000 1/2000) (list 1/2000 1/2000)))))

(certificate text.action-zero
  (statement "44ec2f0740525e7ec78aa2b3b48ea883e2019253e7c0fbca321fd8e54442ccb1")
  (margin 2) (sides -1 -5)
  (instance (beta 19/20) (half 1/2000) (theta-1 5) (r (list (list -1 -5) (list -2 -5) (list -3 -5)
    (list -4 -5) (list -5 -5) (list -6 -5) (list -7 -5) (list -8 -5) (list -9 -5) (list -10 -5)))
    (Q (list (list -26267/500 -10963/200) (list -26917/500 -10963/200) (list -54977/1000
    -10963/200) (list -56037/1000 -10963/200) (list -2853/50 -10963/200) (list -58069/1000
    -10963/200) (list -7384/125 -10963/200) (list -30037/500 -10963/200) (list -30537/500
    -10963/200) (list -31037/500 -10963/200))) (x 0))
  (harmless (beta 19/20) (half 1/2000) (theta-1 5) (r (list (list -5 -5))) (Q (list (list 0 0)))
    (x 0)))

(certificate text.bc-consistently-better
  (statement "f6f0920b5976b59b8ea48ed11c1c8d67e067112a90dd420d42fde533e473af80")
  (margin 3) (sides -98/25 0)
  (instance (bc (list 5169/50 5223/50 10599/100 10701/100 5371/50 100 100 100 100 100 2514/25
    405/4 2452/25 391/4 9533/100)) (erm-irl (list 1073/10 2666/25 1011/10 5223/50 10611/100 100
    100 100 100 100 10367/100 10219/100 10067/100 9907/100 193/2)) (sign (list 1 1 1 1 1 1 1 1 1 1
    -1 -1 -1 -1 -1)) (i 0))
  (harmless (bc (list 5169/50 5223/50 10599/100 10701/100 5371/50 100 100 100 100 100 2514/25
    405/4 2452/25 391/4 9533/100)) (erm-irl (list 1073/10 2666/25 1011/10 5223/50 10611/100 100
    100 100 100 100 10367/100 10219/100 10067/100 9907/100 193/2)) (sign (list 1 1 1 1 1 1 1 1 1 1
    -1 -1 -1 -1 -1)) (i 2)))

(certificate alg:estimation1.bookkeeping
  (statement "c6a4ccf7708149ee3d615926c4c9bb03ba73b1c64b4350dcea99b7bf676a19a7")
  (margin 9000) (sides 10000 10)
  (instance (limit 10) (budget 10000) (counted 0) (tested 1) (box (list 2 2 1)) (text (list 1 2))
    (start (list 2 1)) (closing (list 1 2)))
  (harmless (limit 10) (budget 10000) (counted 0) (tested 0) (box (list 1 2 2)) (text (list 1 2))
    (start (list 2 1)) (closing (list 2 1))))

(certificate lem:ExpofLargerGumbel
  (statement "c7d71a6102a0efd538ac5028adc444f1df02764e90db25758b1fad41885b465c")
  (margin 9/10) (sides 1.27036284546147817 2.27036284546147817)
  (instance (gamma 0.57721566490153286061) (nu (list 1 1)))
  (harmless (gamma 0.57721566490153286061) (nu (list 0 3))))

(certificate rem:sub-gaussian-features
  (statement "03ba00c6420e4ee176dda9f47c4a902ad6cffb75f71a5322cbb281dde0b5a7f8")
  (margin 49/100) (sides 1/2 0.0067379469990854670966)
  (instance (d 1000) (present 1/2) (rate 1/200))
  (harmless (d 1000) (present 1) (rate 1/200)))

(certificate prop:linConvergence.population-rate
  (statement "745e051d98e400cd1f28eca804a2ed15c9f92bf8f599eaf8c2e7b9c384e56e53")
  (margin 13/10) (sides 3.3495974403181994 2)
  (instance (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (vec s 2 (vec a 2 (list 1/42
    41/42)))) (nu (list 1/42 41/42)) (anchor (list 0 0)) (Q (vec s 2 (list (log 4) (log 12)))) (d (vec s 2
    (vec a 2 (* (if (= s 0) 1/42 41/42) (if (= a 0) 1/4 3/4))))) (other (list (list (log 4) (log
    12)) (list 0 0))) (N 20) (C 2) (K 882) (p 1/4))
  (harmless (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (vec s 2 (vec a 2 (list 1/2
    1/2)))) (nu (list 1/2 1/2)) (anchor (list 0 0)) (Q (vec s 2 (list (log 4) (log 12)))) (d (vec s 2 (vec
    a 2 (* 1/2 (if (= a 0) 1/4 3/4))))) (other Q) (N 20) (C 2) (K 2) (p 1/4)))

(certificate tab.frequency
  (statement "fd592803e0c6524d7c39b8be223c9ceabacbceaf217f465b28e39517e1c23a19")
  (margin 79000) (sides 100000 20897)
  (instance (N 1000) (H 100) (counts (list (list 7994 804) (list 1409 541) (list 1060 1296) (list
    543 1991) (list 274 2435) (list 35 829) (list 8 476) (list 1 218) (list 0 73) (list 0 10))))
  (harmless (N 200) (H 100) (counts (list (list 7994 804) (list 1409 541) (list 1060 1296) (list
    543 1991) (list 274 2435) (list 35 829) (list 8 476) (list 1 218) (list 0 73) (list 0 10)))))

(certificate sec:GlobalConv.g-equals-R
  (statement "9777e9ee377e2b8fee5cce52e1ae49bb871a580ca82c7ce8ae814b602a3b695e")
  (margin 1/10) (sides 0.94314718055994530942 0.83836565121919914311)
  (instance (beta 1/2) (n (list (list (list 1) (list 9)))) (anchor (list 0)) (r (list (- 1/2 (/
    (log 2) 2)))) (centre (list 13/20 -3/4)) (radius-squared 197/200) (Qstar (list (+ 1 (log 2/3))
    (+ 1 (log 2/9)))) (of-g (list 0 0)) (multiplier 1/2) (other (list 0.4065446 0.2121483)))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 1)) (centre (list 1))
    (radius-squared 1) (Qstar (list 2)) (of-g (list 2)) (multiplier 0) (other (list 1))))

(certificate lem:NNenjoysPL
  (statement "491d6647467a6bd4add584a22c6f9cfe8fc30a720a9c3a443ec0b2e7ea398d2b")
  (margin 0) (sides 0 free)
  (instance (f 2) (m 4) (points (list (list 0 1) (list 1 1) (list 2 1))) (theta (list 1 -2 1/2 3 1 0
    -1 2 1 1/3 -1/2 1 0 1/4 -3 1 1)) (e (list 1 -2 1)))
  (harmless (mu 1/10) (f 0) (m 1) (points (list (list -1) (list 0) (list 1))) (theta (list 1 1 1
    0)) (e (list 1 -2 1))))

(certificate lem:erm_ddc_quant_identification
  (statement "b8b91b10efdb2890fbb3cc69928bc9cdc77432f2631812b7a1bbe14ad33a6ab8")
  (margin 1/20) (sides 0.098694597083285434691 282429536481/8192000000000)
  (instance (beta 9/10) (r (vec s 13 (list (* -9/10 (log 2)) (* -9/10 (log 2))))) (P (vec s 13
    (list (vec t 13 (if (= t (if (< s 12) (+ s 1) 12)) 1 0)) (vec t 13 (if (= t 0) 1 0))))) (nu
    (vec s 13 (if (= s 0) 1 0))) (anchor (vec s 13 0)) (Qstar (vec s 13 (list 0 0))) (d (vec s 13
    (vec a 2 (* 1/2 (if (< s 12) 11/20 1) (^ 9/20 s))))) (Q (vec s 13 (vec a 2 (^ 9/10 (- 12
    s))))) (C 100000) (inverse (vec s 13 (vec t 13 (if (< t s) 0 (/ (^ 9/10 (- t s)) (if (= t 12)
    1/10 1)))))) (kappa 400) (p 1/2) (l 1))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (anchor (list 0)) (Qstar (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (Q (list
    (list 0 0))) (C 8) (inverse (list (list 2))) (kappa 2) (p 1/2) (l 1)))
