; Instances that refute the printed statements, each pinned to the SHA-256 of its statement and
; the definitions; the two sides at what is missed by most, `free` where they hold a constant that
; the paper says exists; and a harmless instance, on which the printed statement is proved.

(certificate lem:telescoping
  (statement "3e9bf096eabe93ed80d0fd2cf09f004aaaeaf9df143d9e1cffcd74035f30ed12")
  (margin 9/10) (sides -1 0)
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 1))) (s0 0) (a0 0) (Q (list (list 0))) (d (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 0))) (s0 0) (a0 0) (Q (list (list 2))) (d (list (list 1)))))

(certificate app.value-function-discount
  (statement "34f3d9c1a4aa1a0259e017d47f0dc017c5e060c7b4e574c62ad071203f387599")
  (margin 1/5) (sides 1 5/4)
  (instance (beta 1/2) (h 1) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1)))
    (W (list 2)))
  (harmless (beta 1/2) (h 2) (r (list (list (log 1/4) (log 3/4)))) (P (list (list (list 1) (list
    1)))) (pi (list (list 1/4 3/4))) (W (list 0))))

(certificate setup.Q-star-bounded
  (statement "881b713932c266894c5f765fcc657c3811d9ce6fe85d67702386cd7df4236144")
  (margin 0) (sides free free)
  (instance (beta 1/2) (r (list (list M))) (P (list (list (list 1)))) (Q (list (list (* 2 M)))))
  (harmless (M 2) (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2)))))

(certificate setup.ddc-policy-class
  (statement "b6ccbb8f6ef54d559b739de637e83642fddc477560d703e7da8de1aed53c4a43")
  (margin 1) (sides 1.3862943611198906188 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2)))) (W (list 0)) (pi (list (list 1 0))) (U (list 0)))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2))) (W (list
    2)) (pi (list (list 1))) (U (list 2))))

(certificate thm:MagnacThesmar.proof-step
  (statement "638e8478d07556611e4dddf6ca6f5a80a98055091a73612a516a684e7894039e")
  (margin 1/2) (sides 0.69314718055994530942 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (anchor (list 0))
    (Q (list (list (log 2) (log 2)))) (other (list (list (log 2) 0))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (anchor (list 0)) (Q (list
    (list 2))) (other (list (list 2)))))

(certificate eq:zeta-reparametrisation
  (statement "0faf1ffdbd065f5e52d01d449cc84b7f921dfbfaa79ef13af1835d08423de96b")
  (margin 1/2) (sides -1/4 -1)
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (Q (list (list 0))) (zeta
    (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1 1/2))) (P (list (list (list 1) (list 1)))) (Q (list (list
    2 1))) (zeta (list (list 0 0)))))

(certificate eq:BC.p-hat
  (statement "7a733b11c799b2c866766cdd3cbcb932a8ec61af699cf1e18f52eec6635437cc")
  (margin 19/10) (sides -1 0.95257412682243321912)
  (instance (q (list 1 -2)))
  (harmless (q (list 5 5))))

(certificate app.pi-star-ratio
  (statement "9344dd64653bf93c03ef7ab9d98001d2dc9c31ccaf0542c7e4bd3faa9b180f9c")
  (margin 19/10) (sides -1 0.95257412682243321912)
  (instance (beta 1/2) (r (list (list 1 -2) (list (log 1/2) (log 1/2)))) (P (list (list (list 0 1)
    (list 0 1)) (list (list 0 1) (list 0 1)))) (Q (list (list 1 -2) (list (log 1/2) (log 1/2)))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2))))))

(certificate eq:expzeta
  (statement "1b575346ba90debdaed46337535098aedaf98a66402907d31f37fc915ef68400")
  (margin 49/100) (sides 1/2 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (Qstar (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (anchor 0) (Q (list (list 0
    0))) (zeta (list (list (log 2) (+ 1 (log 2))))))
  (harmless (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (nu (list 1)) (Qstar (list
    (list 0))) (d (list (list 1))) (anchor 0) (Q (list (list 3))) (zeta (list (list 3)))))

(certificate intro.reward-no-extra-cost
  (statement "e80dd9c1a57159a3788a3b1552ca202ffb0039d1ab9354cae78c69641595b23a")
  (margin 1/5) (sides 1/4 0)
  (instance (beta 1/2) (chance (list 1/2 1/2)) (v (list 0 2)) (q (- (log 1/2))) (r (- (log 2)
    1/2)))
  (harmless (beta 1/2) (chance (list 1)) (v (list 2)) (q 1) (r 0)))

(certificate intro.true-parameter
  (statement "400cb8847bc53122686041bb38f6bef4c3d66f37be4fc438a7a1367ce0791d3a")
  (margin 9/10) (sides 1 0)
  (instance (Phi (list (list 1 1))) (truth (list 2 0)) (start (list 0 0)) (steps (list 1)) (theta
    (list 1 1)))
  (harmless (Phi (list (list 1 0) (list 1 1))) (truth (list 2 -1)) (start (list 0 0)) (steps (list
    3 -1)) (theta (list 2 -1))))

(certificate remark.full-column-rank
  (statement "ac8401c24769f84c734616a77f40b8daef4ad5492160fa8e2bd561e9d4a51b37")
  (margin 1) (sides 2 4)
  (instance (all-rows (list (list 1 1 0 0) (list 0 0 1 1) (list 1 0 0 0) (list 0 0 1 0) (list 1 1
    0 0) (list 0 0 1 1))) (points (list 0 1 4 5)))
  (harmless (all-rows (list (list 1 1) (list 1 0))) (points (list 0 1))))

(certificate intro.unique-saddle
  (statement "f56fb3a8b15bade36c2dfcc9f822ea662548daf6f8a834aaaef466e2e05b3434")
  (margin 11/25) (sides 0.24314718055994530942 0.69314718055994530942)
  (instance (beta 19/20) (r (list (list (* -19/20 (log 2)) (* -19/20 (log 2))))) (P (list (list
    (list 1) (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2)))
    (other (list (list 1 1))))
  (harmless (beta 1/4) (r (list (list (* -1/4 (log 2)) (* -1/4 (log 2))))) (P (list (list (list 1)
    (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2))) (other
    (list (list 1 1)))))

(certificate lem:logsumexp_Shannon.proof-step
  (statement "076ba7d19ef85df71beb09f0f34fd64df72bdc267935e61271dfa74d8945cdcf")
  (margin 3/10) (sides -0.30685281944005469058 0)
  (instance (x (list 0 0)) (tau 1))
  (harmless (x (list 1)) (tau 1)))

(certificate related.polyhedral
  (statement "49a95599a2f64feae278ca1fb647fe371df14ea06d303d8ccbb82400d1e637b9")
  (margin 1/10) (sides 2.6265233750364456681 2.5064088680781681435)
  (instance (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    0 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 V1) (weight 1/2))
  (harmless (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    2 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 (list (+ 2 (* 2 (log (+ 1 (exp 1)))))))
    (weight 1/2)))

(certificate rem:counterfactual-without-P
  (statement "1671a8c3c80407aa63e68626d4b359e4e729f0da43e30536cdcb2d612f63dcb6")
  (margin 1/10) (sides 3/4 0.89076822742696407199)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list (+ 1 (log 3)) 0))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (let (v (* 2 (log (+ 1
    (* 3 (exp 1)))))) (list (list (+ 1 (log 3) (/ v 2)) (/ v 2))))) (C (let (v (* 2 (+ 1/2 (log
    4)))) (list (list (+ -1/2 1 (log 3) (/ v 2)) (+ 1/2 (/ v 2)))))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list 1 1))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (list (list (+ 2 (log 2)) (+ 2
    (log 2))))) (C N)))

(certificate lem:anchor_overlap_logit.finite-horizon
  (statement "cca7c188a24f45bd5fe7db4e1e5cfe99fda61d7c5f24f94a243cb46dfa5e3309")
  (margin 2/5) (sides 0 1/2)
  (instance (beta 9/10) (r (list (list (* -9/10 (log 2)) (* -9/10 (log 2))) (list (* -9/10 (log
    2)) (* -9/10 (log 2))))) (P (list (list (list 0 1) (list 1 0)) (list (list 0 1) (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 0 0) (list 0 0))) (H 1) (laws (list (list 1 0) (list 1/2
    1/2))))
  (harmless (beta 1/2) (r (list (list (* -1/2 (log 2)) (* -1/2 (log 2))))) (P (list (list (list 1)
    (list 1)))) (anchor (list 0)) (Q (list (list 0 0))) (H 1) (laws (list (list 1) (list 1)))))

(certificate prop:linConvergence.two-sided-PL
  (statement "e86ac08aa8f8c1decb1fb32d9094a87757b8b3a6be678d2650b473538bf3292c")
  (margin 0) (sides 0 free)
  (instance (beta 19/20) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (* -19/20
    (log 2)))) (zeta (list (log 2))) (theta (list 0 0)) (other (list 1 1)))
  (harmless (mu 1) (beta 1/4) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (zeta
    (list 0)) (theta (list 1)) (other (list 0))))

(certificate prop:linConvergence.single-stepsize
  (statement "9eaa210521f5a6e7a20dd0ef6a3937b5e477e2d693f8973b7e1880fa2e507005")
  (margin 2/5) (sides 0.45890079933671736718 0)
  (instance (beta 7/10) (scale 1/2))
  (harmless (beta 1/4) (scale 2)))

(certificate prop:linConvergence.strong-concavity
  (statement "04a130dba065a142d6d2716c037a723f275f43d5b3508e1496acb22fc28900a7")
  (margin 0) (sides 0 free)
  (instance (beta 19/20) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list 0)))
    (features (list (list 1 1))) (phi (list 0 0)) (other (list 1 -1)) (pairs (list 0)))
  (harmless (rho 361/200) (beta 19/20) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list
    0))) (features (list (list 1))) (phi (list 0)) (other (list 1)) (pairs (list 0))))

(certificate lem:lipsSmooth.hessian-of-V
  (statement "2a84faf334c428b353c88bfa3186e28f32ac61345a2b7932edab49df68aa3815")
  (margin 2/5) (sides 1/2 0)
  (instance (q (list 0 0)) (G (list (list 1) (list 1))) (h (list 1)))
  (harmless (q (list 1)) (G (list (list 2))) (h (list 1))))

(certificate lem:lipsSmooth.NLL-bound
  (statement "60310b24df69900d85bdae4364effc4e97df9c645e7acc7d960da0260c0058ca")
  (margin 2/5) (sides 1 1/2)
  (instance (n (list (list (list 1) (list 0)))) (q (list (list 0 0))) (slopes (list (list (list 1)
    (list -1)))) (bends (list (list (list (list 0)) (list (list 0))))) (h (list 1)) (B 1) (B2 0))
  (harmless (n (list (list (list 1) (list 0) (list 0) (list 0)))) (q (list (list 0 0 -30 -30)))
    (slopes (list (list (list 1) (list -1) (list 0) (list 0)))) (bends (list (vec a 4 (list (list
    0))))) (h (list 1)) (B 1) (B2 0)))

(certificate lem:EmpLipschitz
  (statement "4612affe48261744067450538c2ae90d70570ac775b682b8808138b22ede7a01")
  (margin 3/4) (sides 16.971594155955764888 1621/100)
  (instance (beta 19/20) (n (list (list (list 0 1) (list 0 0)) (list (list 0 0) (list 0 0))))
    (anchor (list 0 0)) (r (list (- 39/20 (* 19/20 (log 2))) 0)) (largest-reward (- 39/20 (* 19/20
    (log 2)))) (q (list (list -1 1) (list 1 1))) (slopes (list (list (list -1) (list 1)) (list
    (list 1) (list 1)))) (corners (list (list 0) (list -2))) (B 1) (M 39/10))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (largest-reward
    0) (q (list (list 1))) (slopes (list (list (list 1)))) (corners (list (list 0))) (B 1) (M
    3/2)))

(certificate lem:lipsSmooth.L-theta
  (statement "24fd7d995e59ec431fecd1216d5751d94bbc36cf154244ce4f54d4c9c3cbd422")
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
  (statement "f1977533fc8e1a47a4d794bb224c3c8c5478501c3f267f547de213fa7b0f65a8")
  (margin 1/10) (sides 1083/1000 19/20)
  (instance (beta 19/20) (n (list (list (list 60) (list 40)))) (anchor (list 0)) (Q (list (list 0
    0))) (first (list 0)) (second (list 1)))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list 0))) (first
    (list 0)) (second (list 1))))

(certificate sec:occupancy.conclusion
  (statement "59cf2e6b20376d5334e99e6a86228f1ba6ad4a1089ce373cf429ad484774be3f")
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
  (statement "266e3e855aff7cb6b52241ae2dfc721876ad581f04501312a1f485d161723ce8")
  (margin 2) (sides 132.22192947339192680 130.10299956639811952)
  (instance (limit 10) (K 100))
  (harmless (limit 10) (K 0)))

(certificate setup.reachable-set
  (statement "22ab4e84dfb639584c31fd7e0cf021adc044312879f2a2cdcbade932abec3677")
  (margin 9/10) (sides 0 1)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1)) (Q
    (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (atom (list 0)))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1)) (Q
    (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (atom (list 1))))

(certificate thm:MagnacThesmar
  (statement "5eb70c3670fa3ccc15d79ccc57ba14a125df458c136d63882ea9379b47d24662")
  (margin 9/10) (sides 1 0)
  (instance (beta 1/2) (r (list (list 0) (list 0))) (P (list (list (list 0 1)) (list (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 0) (list 0))) (other (list (list 1) (list 2))) (inside
    (list 1 0)))
  (harmless (beta 1/2) (r (list (list 1) (list 1))) (P (list (list (list 0 1)) (list (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 2) (list 2))) (other Q) (inside (list 1 1))))

(certificate lem:minMLE
  (statement "22e2bd243c7b2f4b90d63f249903f1cfa3e522d44e08694726d9246f4d0e617d")
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
  (statement "5ea312713eb5f41b2698cb6dfbab95c3fb6406e2b5716bc41740b76f1f9806bc")
  (margin 1/5) (sides 1/4 0)
  (instance (beta 1/2) (gap (list 0)) (mean (list 0)) (noise (list 1)))
  (harmless (beta 1/2) (gap (list 1)) (mean (list 1)) (noise (list 0))))

(certificate alg:estimation1.is-GDA
  (statement "554a9117977e1d9fe21c596a3a9baaaea178d9c5eefa393ee58cfcccd116dee7")
  (margin 5) (sides 6 0)
  (instance (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (phi (list (list 1 0)
    (list 0 1))) (chi (list (list 1 0) (list 1 1))) (theta (list (log 1/2) (log 1/2))) (eta (list
    -1 4)))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (phi (list (list 1))) (chi
    (list (list 1))) (theta (list 1)) (eta (list 3))))

(certificate exp.jacobian-condition
  (statement "1b224fb465f51813c88dfd51f7e1cfeb5fe12a2c85a4b93da3ceac4f25b1221e")
  (margin 7000) (sides 172 7456)
  (instance (inputs 3) (hidden 10) (outputs 2) (M 7456))
  (harmless (inputs 1) (hidden 10) (outputs 2) (M 40)))

(certificate prop:linConvergence.quadratic-growth
  (statement "ba89c89f4b9a4100d0c65ea5c6c1de9b1a8229b89e72ccabc8b97ee17b5504dd")
  (margin 0) (sides free free)
  (instance (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (* -1/2 (+ 1
    (log 2))))) (Phi (list (list 1 0 0) (list 0 1 0))) (radius-squared 2) (theta (let (m (/ (* 2
    c) (+ 1 c))) (let (over (+ 1 (* 2 (^ m 2)))) (list (/ (- (* 2 (^ m 2)) 1) over) (/ (- (* 2 (^
    m 2)) 1) over) (/ (* 4 m) over))))) (near (list -1 -1 0)) (p 1/64))
  (harmless (c 1/8) (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (*
    -1/2 (+ 1 (log 2))))) (Phi (list (list 1 0) (list 0 1))) (radius-squared 2) (theta (list 0 0))
    (near (list -1 -1)) (p 1/64)))

(certificate tab.mlirl-r-versus-Q
  (statement "b5395a13973d8e6b5df3e50fe5eb1cae906d81dddf772d79aa44df04fc3b8809")
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
  (statement "46b6b7a80dd692b3f804418fc4fd119872b22b432b77a84003c063761089e584")
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
  (statement "6a425fd1dc86adabe6a90a1c69de49d6e1798d0713c692938eb11c653ad331b8")
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
  (statement "470dd087fa916295bf73416a76401072d129d9571646c08179398a19f5dfd84c")
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
  (statement "1557804b31a8e8db9f1df69019b965225738d46deea76de68dd91614506020db")
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
  (statement "b479b6d379bc90c82cb85941bb490cec0ab9e80ef7faadf60016e4b7b26804ea")
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
  (statement "be0e7504b5a0995837b7021ac2999e77915dedb361c5edd4cbc356fac536c6db")
  (margin 9000) (sides 10000 10)
  (instance (limit 10) (budget 10000) (counted 0) (tested 1) (box (list 2 2 1)) (text (list 1 2))
    (start (list 2 1)) (closing (list 1 2)))
  (harmless (limit 10) (budget 10000) (counted 0) (tested 0) (box (list 1 2 2)) (text (list 1 2))
    (start (list 2 1)) (closing (list 2 1))))

(certificate lem:ExpofLargerGumbel
  (statement "1e8816a49291d186e5a1700916c1b7e23452479148a67d834e096c486a904dcd")
  (margin 9/10) (sides 1.27036284546147817 2.27036284546147817)
  (instance (gamma 0.57721566490153286061) (nu (list 1 1)))
  (harmless (gamma 0.57721566490153286061) (nu (list 0 3))))

(certificate rem:sub-gaussian-features
  (statement "b51a595fbb018c4c9eb14104bbb893a76014ad727f488a73568e5ced0a293c0a")
  (margin 49/100) (sides 1/2 0.0067379469990854670966)
  (instance (d 1000) (present 1/2) (rate 1/200))
  (harmless (d 1000) (present 1) (rate 1/200)))

(certificate prop:linConvergence.population-rate
  (statement "e8f75bf6a31bb7a890168ac82c5574c83f4a93139afcbb976376fe88f89038a7")
  (margin 13/10) (sides 3.3495974403181994 2)
  (instance (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (vec s 2 (vec a 2 (list 1/42
    41/42)))) (nu (list 1/42 41/42)) (anchor 0) (Q (vec s 2 (list (log 4) (log 12)))) (d (vec s 2
    (vec a 2 (* (if (= s 0) 1/42 41/42) (if (= a 0) 1/4 3/4))))) (other (list (list (log 4) (log
    12)) (list 0 0))) (N 20) (C 2) (K 882) (p 1/4))
  (harmless (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (vec s 2 (vec a 2 (list 1/2
    1/2)))) (nu (list 1/2 1/2)) (anchor 0) (Q (vec s 2 (list (log 4) (log 12)))) (d (vec s 2 (vec
    a 2 (* 1/2 (if (= a 0) 1/4 3/4))))) (other Q) (N 20) (C 2) (K 2) (p 1/4)))
