; Instances that refute the printed statements, each pinned to the SHA-256 of its statement and
; the definitions; the two sides at what is missed by most, `free` where they hold a constant that
; the paper says exists; and a harmless instance, on which the printed statement is proved.

(certificate lem:telescoping
  (statement "aa2bd7b2bd2d359cb048ba5f0fdda447a826ce14940b5f2bb29ac2acb83e649f")
  (margin 9/10) (sides -1 0)
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 1))) (s0 0) (a0 0) (Q (list (list 0))) (d (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 0))) (s0 0) (a0 0) (Q (list (list 2))) (d (list (list 1)))))

(certificate setup.Q-star-bounded
  (statement "f7430fa9348d607b4bd04f89adeb024c33d3d2b39f9ee0c860a3ace183ac0703")
  (margin 0) (sides free free)
  (instance (beta 1/2) (r (list (list M))) (P (list (list (list 1)))) (Q (list (list (* 2 M)))))
  (harmless (M 2) (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2)))))

(certificate setup.ddc-policy-class
  (statement "0267cf3ffece8ff4294ab79582b6e897bff743310f5b90d7d08ccea762394d6b")
  (margin 1) (sides 1.3862943611198906188 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2)))) (W (list 0)) (pi (list (list 1 0))) (U (list 0)))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2))) (W (list
    2)) (pi (list (list 1))) (U (list 2))))

(certificate thm:MagnacThesmar.proof-step
  (statement "24cf0f7ac5d3f8f5827381b8e876967ae5d4b237913d5b04b3339c0383eca4e6")
  (margin 1/2) (sides 0.69314718055994530942 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (anchor (list 0))
    (Q (list (list (log 2) (log 2)))) (other (list (list (log 2) 0))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (anchor (list 0)) (Q (list
    (list 2))) (other (list (list 2)))))

(certificate eq:zeta-reparametrisation
  (statement "8ddb32d6cfdf5a2c9deff0b56bb73d6a14c8cc7bbabbcfcd229672f7e08f4e05")
  (margin 1/2) (sides -1/4 -1)
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (Q (list (list 0))) (zeta
    (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1 1/2))) (P (list (list (list 1) (list 1)))) (Q (list (list
    2 1))) (zeta (list (list 0 0)))))

(certificate eq:BC.p-hat
  (statement "5ff18d552ee6793c3deb950632da0de63c4b0e8cf621d9163da02e7eb4ee5312")
  (margin 19/10) (sides -1 0.95257412682243321912)
  (instance (q (list 1 -2)))
  (harmless (q (list 5 5))))

(certificate app.pi-star-ratio
  (statement "f9894054c3c23269030912c4c2efdb278deb2323c1f2533551b263f4bff04389")
  (margin 19/10) (sides -1 0.95257412682243321912)
  (instance (beta 1/2) (r (list (list 1 -2) (list (log 1/2) (log 1/2)))) (P (list (list (list 0 1)
    (list 0 1)) (list (list 0 1) (list 0 1)))) (Q (list (list 1 -2) (list (log 1/2) (log 1/2)))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2))))))

(certificate eq:expzeta
  (statement "a55e6f7272d58082b33912e086c7613a5493302b5a4d9e8ef1b1ac47d63761ed")
  (margin 49/100) (sides 1/2 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (Qstar (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (anchor 0) (Q (list (list 0
    0))) (zeta (list (list (log 2) (+ 1 (log 2))))))
  (harmless (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (nu (list 1)) (Qstar (list
    (list 0))) (d (list (list 1))) (anchor 0) (Q (list (list 3))) (zeta (list (list 3)))))

(certificate intro.reward-no-extra-cost
  (statement "740ae6e100b00a9d5fc3b61ffb387318683f2943ef4109b0a300f45e2b46c8cd")
  (margin 1/5) (sides 1/4 0)
  (instance (beta 1/2) (chance (list 1/2 1/2)) (v (list 0 2)) (q (- (log 1/2))) (r (- (log 2)
    1/2)))
  (harmless (beta 1/2) (chance (list 1)) (v (list 2)) (q 1) (r 0)))

(certificate intro.true-parameter
  (statement "0400e635e0324b023baa2c07dc56103a9477d526dcf5c4a9e775bc87a6c9a4ea")
  (margin 9/10) (sides 1 0)
  (instance (Phi (list (list 1 1))) (truth (list 2 0)) (start (list 0 0)) (steps (list 1)) (theta
    (list 1 1)))
  (harmless (Phi (list (list 1 0) (list 1 1))) (truth (list 2 -1)) (start (list 0 0)) (steps (list
    3 -1)) (theta (list 2 -1))))

(certificate remark.full-column-rank
  (statement "d4aa12fa8bfb5497cff1ec6123a3690d0b0b4f2ec11c4c401a24a356dc183aec")
  (margin 1) (sides 2 4)
  (instance (all-rows (list (list 1 1 0 0) (list 0 0 1 1) (list 1 0 0 0) (list 0 0 1 0) (list 1 1
    0 0) (list 0 0 1 1))) (points (list 0 1 4 5)))
  (harmless (all-rows (list (list 1 1) (list 1 0))) (points (list 0 1))))

(certificate intro.unique-saddle
  (statement "8163186a1a94eadb6484004cc84685538f6abf296628cfe88b8ede338309b243")
  (margin 11/25) (sides 0.24314718055994530942 0.69314718055994530942)
  (instance (beta 19/20) (r (list (list (* -19/20 (log 2)) (* -19/20 (log 2))))) (P (list (list
    (list 1) (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2)))
    (other (list (list 1 1))))
  (harmless (beta 1/4) (r (list (list (* -1/4 (log 2)) (* -1/4 (log 2))))) (P (list (list (list 1)
    (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2))) (other
    (list (list 1 1)))))

(certificate lem:logsumexp_Shannon.proof-step
  (statement "d6e222664dc590cbb867a1679b0fb71248cc4cfe13ec63aabb1c119fd65de8e1")
  (margin 3/10) (sides -0.30685281944005469058 0)
  (instance (x (list 0 0)) (tau 1))
  (harmless (x (list 1)) (tau 1)))

(certificate related.polyhedral
  (statement "677f2917a808d367abe06f58f877718b410903c70df14eb814ed8cf4b84a0248")
  (margin 1/10) (sides 2.6265233750364456681 2.5064088680781681435)
  (instance (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    0 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 V1) (share 1/2))
  (harmless (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    2 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 (list (+ 2 (* 2 (log (+ 1 (exp 1)))))))
    (share 1/2)))

(certificate rem:counterfactual-without-P
  (statement "10c9e17afc263edba3b9d58505f2d629eff1de417a353cf5f90c5acf62b76fbf")
  (margin 1/10) (sides 3/4 0.89076822742696407199)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list (+ 1 (log 3)) 0))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (let (v (* 2 (log (+ 1
    (* 3 (exp 1)))))) (list (list (+ 1 (log 3) (/ v 2)) (/ v 2))))) (C (let (v (* 2 (+ 1/2 (log
    4)))) (list (list (+ -1/2 1 (log 3) (/ v 2)) (+ 1/2 (/ v 2)))))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list 1 1))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (list (list (+ 2 (log 2)) (+ 2
    (log 2))))) (C N)))

(certificate lem:anchor_overlap_logit.finite-horizon
  (statement "d703eefedef18a07e8ea29e7bc9bfbcad1911a486f7824a2f7cccda8cb6d00ac")
  (margin 2/5) (sides 0 1/2)
  (instance (beta 9/10) (r (list (list (* -9/10 (log 2)) (* -9/10 (log 2))) (list (* -9/10 (log
    2)) (* -9/10 (log 2))))) (P (list (list (list 0 1) (list 1 0)) (list (list 0 1) (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 0 0) (list 0 0))) (H 1) (laws (list (list 1 0) (list 1/2
    1/2))))
  (harmless (beta 1/2) (r (list (list (* -1/2 (log 2)) (* -1/2 (log 2))))) (P (list (list (list 1)
    (list 1)))) (anchor (list 0)) (Q (list (list 0 0))) (H 1) (laws (list (list 1) (list 1)))))
