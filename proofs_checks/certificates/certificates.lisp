; Instances that refute the printed statements, each pinned to the SHA-256 of its statement and
; the definitions; the two sides at what is missed by most, `free` where they hold a constant that
; the paper says exists; and a harmless instance, on which the printed statement is proved.

(certificate lem:telescoping
  (statement "19f931d6739dc49aec5fad1b49951e565d05bc6215162fb5441f7c5c5d0ccc42")
  (margin 9/10) (sides -1 0)
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 1))) (s0 0) (a0 0) (Q (list (list 0))) (d (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 0))) (s0 0) (a0 0) (Q (list (list 2))) (d (list (list 1)))))

(certificate app.value-function-discount
  (statement "81e871003637dc776d55ce6a9ce817a3b67620b7275c934afda18a06b743ff6c")
  (margin 1/5) (sides 1 5/4)
  (instance (beta 1/2) (h 1) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1)))
    (W (list 2)))
  (harmless (beta 1/2) (h 2) (r (list (list (log 1/4) (log 3/4)))) (P (list (list (list 1) (list
    1)))) (pi (list (list 1/4 3/4))) (W (list 0))))

(certificate setup.Q-star-bounded
  (statement "c46347ce58495ae4b1d3fc31e55b3e53bcb3b9331fa057917101a166b4f3239f")
  (margin 0) (sides free free)
  (instance (beta 1/2) (r (list (list M))) (P (list (list (list 1)))) (Q (list (list (* 2 M)))))
  (harmless (M 2) (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2)))))

(certificate setup.ddc-policy-class
  (statement "3dac84ad820301e5d48f41fa2e430742fc1bf98c7cdb5eb274b8ce681212bb3f")
  (margin 1) (sides 1.3862943611198906188 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2)))) (W (list 0)) (pi (list (list 1 0))) (U (list 0)))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2))) (W (list
    2)) (pi (list (list 1))) (U (list 2))))

(certificate thm:MagnacThesmar.proof-step
  (statement "19f9a3b650bdf71ca016ecad06914ce392fdd740dd50cd433875d2958768c526")
  (margin 1/2) (sides 0.69314718055994530942 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (anchor (list 0))
    (Q (list (list (log 2) (log 2)))) (other (list (list (log 2) 0))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (anchor (list 0)) (Q (list
    (list 2))) (other (list (list 2)))))

(certificate eq:zeta-reparametrisation
  (statement "0ba205141ea7677c8532971d2ce98cb6ee6ce2bee4b38716ccd04f6454abf66b")
  (margin 1/2) (sides -1/4 -1)
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (Q (list (list 0))) (zeta
    (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1 1/2))) (P (list (list (list 1) (list 1)))) (Q (list (list
    2 1))) (zeta (list (list 0 0)))))

(certificate eq:BC.p-hat
  (statement "fc589b7a3350767a0fbce729ca2c55c8fc297d1d1cc7726fd7137428394fc3d5")
  (margin 19/10) (sides -1 0.95257412682243321912)
  (instance (q (list 1 -2)))
  (harmless (q (list 5 5))))

(certificate app.pi-star-ratio
  (statement "a531b5374da20e8f5f333c3eaa340ebd2a9ca8236b751c4e666d99eba4b36192")
  (margin 19/10) (sides -1 0.95257412682243321912)
  (instance (beta 1/2) (r (list (list 1 -2) (list (log 1/2) (log 1/2)))) (P (list (list (list 0 1)
    (list 0 1)) (list (list 0 1) (list 0 1)))) (Q (list (list 1 -2) (list (log 1/2) (log 1/2)))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2))))))

(certificate eq:expzeta
  (statement "39a6c7eae37e3dfbe848aa667c79188aa109ca9b92fd7ef83093c29ec2cc75f4")
  (margin 49/100) (sides 1/2 0)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (Qstar (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (anchor 0) (Q (list (list 0
    0))) (zeta (list (list (log 2) (+ 1 (log 2))))))
  (harmless (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (nu (list 1)) (Qstar (list
    (list 0))) (d (list (list 1))) (anchor 0) (Q (list (list 3))) (zeta (list (list 3)))))

(certificate intro.reward-no-extra-cost
  (statement "9444f1e640d0ab6f19fde3ffaba0d85d22a520a22e171be026f4d4d1819d5a65")
  (margin 1/5) (sides 1/4 0)
  (instance (beta 1/2) (chance (list 1/2 1/2)) (v (list 0 2)) (q (- (log 1/2))) (r (- (log 2)
    1/2)))
  (harmless (beta 1/2) (chance (list 1)) (v (list 2)) (q 1) (r 0)))

(certificate intro.true-parameter
  (statement "93c087057b523bb8f56ad9084fea92539586d716cc341a703dc3688927195319")
  (margin 9/10) (sides 1 0)
  (instance (Phi (list (list 1 1))) (truth (list 2 0)) (start (list 0 0)) (steps (list 1)) (theta
    (list 1 1)))
  (harmless (Phi (list (list 1 0) (list 1 1))) (truth (list 2 -1)) (start (list 0 0)) (steps (list
    3 -1)) (theta (list 2 -1))))

(certificate remark.full-column-rank
  (statement "9c48551e61f3a8ae41e08cb229e39edc8e867f58ab34dc149533bf41c52be66f")
  (margin 1) (sides 2 4)
  (instance (all-rows (list (list 1 1 0 0) (list 0 0 1 1) (list 1 0 0 0) (list 0 0 1 0) (list 1 1
    0 0) (list 0 0 1 1))) (points (list 0 1 4 5)))
  (harmless (all-rows (list (list 1 1) (list 1 0))) (points (list 0 1))))

(certificate intro.unique-saddle
  (statement "fff1a393f8193a60521da8cd0185e177470deda80791f294b1aaf9d6c17663ca")
  (margin 11/25) (sides 0.24314718055994530942 0.69314718055994530942)
  (instance (beta 19/20) (r (list (list (* -19/20 (log 2)) (* -19/20 (log 2))))) (P (list (list
    (list 1) (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2)))
    (other (list (list 1 1))))
  (harmless (beta 1/4) (r (list (list (* -1/4 (log 2)) (* -1/4 (log 2))))) (P (list (list (list 1)
    (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2))) (other
    (list (list 1 1)))))

(certificate lem:logsumexp_Shannon.proof-step
  (statement "cb0b62d0a196859221cd94ea3ce27de08cc56431ecf03af48e3f7b27c7b2239c")
  (margin 3/10) (sides -0.30685281944005469058 0)
  (instance (x (list 0 0)) (tau 1))
  (harmless (x (list 1)) (tau 1)))

(certificate related.polyhedral
  (statement "bcddacd6aac49a5a704db8c1c70ea8d86debafeeca39bca1bf4e7fc84df7282c")
  (margin 1/10) (sides 2.6265233750364456681 2.5064088680781681435)
  (instance (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    0 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 V1) (share 1/2))
  (harmless (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    2 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 (list (+ 2 (* 2 (log (+ 1 (exp 1)))))))
    (share 1/2)))

(certificate rem:counterfactual-without-P
  (statement "b22cda4240bb033a8e524704e448076898faaaa6dd3ce66d59659c3a1cc56bc7")
  (margin 1/10) (sides 3/4 0.89076822742696407199)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list (+ 1 (log 3)) 0))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (let (v (* 2 (log (+ 1
    (* 3 (exp 1)))))) (list (list (+ 1 (log 3) (/ v 2)) (/ v 2))))) (C (let (v (* 2 (+ 1/2 (log
    4)))) (list (list (+ -1/2 1 (log 3) (/ v 2)) (+ 1/2 (/ v 2)))))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list 1 1))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (list (list (+ 2 (log 2)) (+ 2
    (log 2))))) (C N)))

(certificate lem:anchor_overlap_logit.finite-horizon
  (statement "cdeaac120a07cd0ed699c8be57df11d053e1960a8f0504935bb7b77ee1c7a756")
  (margin 2/5) (sides 0 1/2)
  (instance (beta 9/10) (r (list (list (* -9/10 (log 2)) (* -9/10 (log 2))) (list (* -9/10 (log
    2)) (* -9/10 (log 2))))) (P (list (list (list 0 1) (list 1 0)) (list (list 0 1) (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 0 0) (list 0 0))) (H 1) (laws (list (list 1 0) (list 1/2
    1/2))))
  (harmless (beta 1/2) (r (list (list (* -1/2 (log 2)) (* -1/2 (log 2))))) (P (list (list (list 1)
    (list 1)))) (anchor (list 0)) (Q (list (list 0 0))) (H 1) (laws (list (list 1) (list 1)))))

(certificate prop:linConvergence.two-sided-PL
  (statement "f1d073bb7e3733c454a5bc31cbb655e7dce7cfa3f675701d20111260c6f5124d")
  (margin 0) (sides 0 free)
  (instance (beta 19/20) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (* -19/20
    (log 2)))) (zeta (list (log 2))) (theta (list 0 0)) (other (list 1 1)))
  (harmless (mu 1) (beta 1/4) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (zeta
    (list 0)) (theta (list 1)) (other (list 0))))

(certificate prop:linConvergence.single-stepsize
  (statement "2b6a5873a37c8808c5751e55dc5ac9b1799e8d920a56ffae8c522b4c7d73df3a")
  (margin 2/5) (sides 0.45890079933671736718 0)
  (instance (beta 7/10) (scale 1/2))
  (harmless (beta 1/4) (scale 2)))

(certificate prop:linConvergence.strong-concavity
  (statement "0b5f211b5baab83c8c185941a62da74622955d376195163faa71c13e39b75393")
  (margin 0) (sides 0 free)
  (instance (beta 19/20) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list 0)))
    (features (list (list 1 1))) (phi (list 0 0)) (other (list 1 -1)) (pairs (list 0)))
  (harmless (rho 361/200) (beta 19/20) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list
    0))) (features (list (list 1))) (phi (list 0)) (other (list 1)) (pairs (list 0))))

(certificate lem:lipsSmooth.hessian-of-V
  (statement "ce712a5f43e8925e331631f02bdaee25cf0821870444eb96cefb0c702c5943ff")
  (margin 2/5) (sides 1/2 0)
  (instance (q (list 0 0)) (G (list (list 1) (list 1))) (h (list 1)))
  (harmless (q (list 1)) (G (list (list 2))) (h (list 1))))

(certificate lem:lipsSmooth.NLL-bound
  (statement "17e6702b7f1f00b08ef38ee3f0ac5a5ec0ccbe4daf98a3926a0130ab94604b92")
  (margin 2/5) (sides 1 1/2)
  (instance (n (list (list (list 1) (list 0)))) (q (list (list 0 0))) (slopes (list (list (list 1)
    (list -1)))) (bends (list (list (list (list 0)) (list (list 0))))) (h (list 1)) (B 1) (B2 0))
  (harmless (n (list (list (list 1) (list 0) (list 0) (list 0)))) (q (list (list 0 0 -30 -30)))
    (slopes (list (list (list 1) (list -1) (list 0) (list 0)))) (bends (list (vec a 4 (list (list
    0))))) (h (list 1)) (B 1) (B2 0)))

(certificate lem:EmpLipschitz
  (statement "95e62f521658dd21d752dc488632a94d65c04b8954298407b43ef64f4092c6be")
  (margin 3/4) (sides 16.971594155955764888 1621/100)
  (instance (beta 19/20) (n (list (list (list 0 1) (list 0 0)) (list (list 0 0) (list 0 0))))
    (anchor (list 0 0)) (r (list (- 39/20 (* 19/20 (log 2))) 0)) (largest-reward (- 39/20 (* 19/20
    (log 2)))) (q (list (list -1 1) (list 1 1))) (slopes (list (list (list -1) (list 1)) (list
    (list 1) (list 1)))) (corners (list (list 0) (list -2))) (B 1) (M 39/10))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (largest-reward
    0) (q (list (list 1))) (slopes (list (list (list 1)))) (corners (list (list 0))) (B 1) (M
    3/2)))

(certificate lem:lipsSmooth.L-theta
  (statement "d8e6bd58a15b805c11064f5294a703dd3eedff2a7af0af063445ed2a969f50d4")
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
  (statement "4d41ec55ea918f9c0912241bb60c78523d040133cce695ff5d53fac08bdc9f66")
  (margin 1/10) (sides 1083/1000 19/20)
  (instance (beta 19/20) (n (list (list (list 60) (list 40)))) (anchor (list 0)) (Q (list (list 0
    0))) (first (list 0)) (second (list 1)))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list 0))) (first
    (list 0)) (second (list 1))))

(certificate sec:occupancy.conclusion
  (statement "40b2bb4530f7252b678a3f1e9ade180cc8ae0828a08e206f091db320638d496b")
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
  (statement "8d678fd1d499bde2a2a215d07e0a8edcc9b8624c80e97df1d7b527a290bb7a62")
  (margin 2) (sides 132.22192947339192680 130.10299956639811952)
  (instance (limit 10) (K 100))
  (harmless (limit 10) (K 0)))

(certificate setup.reachable-set
  (statement "5033f7b371582a5bd0e3b9b8d2ef07d8880e53c2084cc5154cd8a60f2c752e43")
  (margin 9/10) (sides 0 1)
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1)) (Q
    (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (atom (list 0)))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1)) (Q
    (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (atom (list 1))))

(certificate thm:MagnacThesmar
  (statement "6ecdbf7ad03d33650be4924300a2c1417acfb67d1234681680cf93543a4766fe")
  (margin 9/10) (sides 1 0)
  (instance (beta 1/2) (r (list (list 0) (list 0))) (P (list (list (list 0 1)) (list (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 0) (list 0))) (other (list (list 1) (list 2))) (inside
    (list 1 0)))
  (harmless (beta 1/2) (r (list (list 1) (list 1))) (P (list (list (list 0 1)) (list (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 2) (list 2))) (other Q) (inside (list 1 1))))

(certificate lem:minMLE
  (statement "26329b00f0d85255c102a5e21ba9d83e83a9eacc559318ba879f48cc1d531a9a")
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
  (statement "862d1546fe43ad28497715adec28afd880c6173d4a42c6d4e05bcf1051ab9e77")
  (margin 1/5) (sides 1/4 0)
  (instance (beta 1/2) (gap (list 0)) (mean (list 0)) (noise (list 1)))
  (harmless (beta 1/2) (gap (list 1)) (mean (list 1)) (noise (list 0))))

(certificate alg:estimation1.is-GDA
  (statement "fdb4fccba820f8796c4ae6209520634caee50b69c7848e929a00bea33926f9af")
  (margin 5) (sides 6 0)
  (instance (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (phi (list (list 1 0)
    (list 0 1))) (chi (list (list 1 0) (list 1 1))) (theta (list (log 1/2) (log 1/2))) (eta (list
    -1 4)))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (phi (list (list 1))) (chi
    (list (list 1))) (theta (list 1)) (eta (list 3))))

(certificate exp.jacobian-condition
  (statement "43a470fff89d733b1dc196eb5ef5c4362e0fbac21972763e3dc15a16d1119e3b")
  (margin 7000) (sides 172 7456)
  (instance (inputs 3) (hidden 10) (outputs 2) (M 7456))
  (harmless (inputs 1) (hidden 10) (outputs 2) (M 40)))

(certificate prop:linConvergence.quadratic-growth
  (statement "659423e90bfafc0e35c26dc70272235cd8657e024972ba635c753878441533d4")
  (margin 0) (sides free free)
  (instance (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (* -1/2 (+ 1
    (log 2))))) (Phi (list (list 1 0 0) (list 0 1 0))) (radius-squared 2) (theta (let (m (/ (* 2
    c) (+ 1 c))) (let (over (+ 1 (* 2 (^ m 2)))) (list (/ (- (* 2 (^ m 2)) 1) over) (/ (- (* 2 (^
    m 2)) 1) over) (/ (* 4 m) over))))) (near (list -1 -1 0)) (p 1/64))
  (harmless (c 1/8) (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (*
    -1/2 (+ 1 (log 2))))) (Phi (list (list 1 0) (list 0 1))) (radius-squared 2) (theta (list 0 0))
    (near (list -1 -1)) (p 1/64)))

(certificate tab.mlirl-r-versus-Q
  (statement "b53a73c4716532a31e771412928e8b14e3e17818e2abcc92749122c4f24e1a59")
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
  (statement "b2bcda176a057b67c98f72802554ebfa53cbe36585bf5da61e57a6a58fb18474")
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
  (statement "974ce8d62d740366c1a9a0d5ff320a3629bb179efbacdf218c762e8c8a38c0b0")
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
  (statement "b23d8b5532b17e309187a16d9d44a064556bc77a24da714917b961d65a0bd166")
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
  (statement "2d6df5697bd6c029516487bb7fb1afb297e8f7b2ecd4e37d96c56a5c365ccaa7")
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
  (statement "2d327804166b6841bb0fb339cd601d2d62e48c7d015b493a92102b0edfb1c03a")
  (margin 3) (sides -98/25 0)
  (instance (bc (list 5169/50 5223/50 10599/100 10701/100 5371/50 100 100 100 100 100 2514/25
    405/4 2452/25 391/4 9533/100)) (erm-irl (list 1073/10 2666/25 1011/10 5223/50 10611/100 100
    100 100 100 100 10367/100 10219/100 10067/100 9907/100 193/2)) (sign (list 1 1 1 1 1 1 1 1 1 1
    -1 -1 -1 -1 -1)) (i 0))
  (harmless (bc (list 5169/50 5223/50 10599/100 10701/100 5371/50 100 100 100 100 100 2514/25
    405/4 2452/25 391/4 9533/100)) (erm-irl (list 1073/10 2666/25 1011/10 5223/50 10611/100 100
    100 100 100 100 10367/100 10219/100 10067/100 9907/100 193/2)) (sign (list 1 1 1 1 1 1 1 1 1 1
    -1 -1 -1 -1 -1)) (i 2)))
