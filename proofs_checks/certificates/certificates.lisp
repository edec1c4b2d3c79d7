; Instances that refute the printed statements, and harmless instances on which these are proved.

(certificate lem:telescoping
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 1))) (s0 0) (a0 0) (Q (list (list 0))) (d (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1))) (f
    (list (list 0))) (s0 0) (a0 0) (Q (list (list 2))) (d (list (list 1)))))

(certificate app.value-function-discount
  (instance (beta 1/2) (h 1) (r (list (list 1))) (P (list (list (list 1)))) (pi (list (list 1)))
    (W (list 2)))
  (harmless (beta 1/2) (h 2) (r (list (list (log 1/4) (log 3/4)))) (P (list (list (list 1) (list
    1)))) (pi (list (list 1/4 3/4))) (W (list 0))))

(certificate setup.Q-star-bounded
  (instance (beta 1/2) (r (list (list M))) (P (list (list (list 1)))) (Q (list (list (* 2 M)))))
  (harmless (beta 1/2) (M 2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2)))))

(certificate setup.ddc-policy-class
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2)))) (W (list 0)) (pi (list (list 1 0))) (U (list 0)))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (Q (list (list 2))) (W (list
    2)) (pi (list (list 1))) (U (list 2))))

(certificate thm:MagnacThesmar.proof-step
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (anchor (list 0))
    (Q (list (list (log 2) (log 2)))) (other (list (list (log 2) 0))))
  (harmless (beta 1/2) (r (list (list 1))) (P (list (list (list 1)))) (anchor (list 0)) (Q (list
    (list 2))) (other (list (list 2)))))

(certificate eq:zeta-reparametrisation
  (instance (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (Q (list (list 0))) (zeta
    (list (list 1))))
  (harmless (beta 1/2) (r (list (list 1 1/2))) (P (list (list (list 1) (list 1)))) (Q (list (list
    2 1))) (zeta (list (list 0 0)))))

(certificate eq:BC.p-hat
  (instance (q (list 1 -2)))
  (harmless (q (list 5 5))))

(certificate app.pi-star-ratio
  (instance (beta 1/2) (r (list (list 1 -2) (list (log 1/2) (log 1/2)))) (P (list (list (list 0 1)
    (list 0 1)) (list (list 0 1) (list 0 1)))) (Q (list (list 1 -2) (list (log 1/2) (log 1/2)))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Q (list (list
    (log 2) (log 2))))))

(certificate eq:expzeta
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (Qstar (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (anchor 0) (Q (list (list 0
    0))) (zeta (list (list (log 2) (+ 1 (log 2))))))
  (harmless (beta 1/2) (r (list (list 0))) (P (list (list (list 1)))) (nu (list 1)) (Qstar (list
    (list 0))) (d (list (list 1))) (anchor 0) (Q (list (list 3))) (zeta (list (list 3)))))

(certificate intro.reward-no-extra-cost
  (instance (beta 1/2) (chance (list 1/2 1/2)) (v (list 0 2)) (q (- (log 1/2))) (r (- (log 2)
    1/2)))
  (harmless (beta 1/2) (chance (list 1)) (v (list 2)) (q 1) (r 0)))

(certificate intro.true-parameter
  (instance (Phi (list (list 1 1))) (truth (list 2 0)) (start (list 0 0)) (steps (list 1)) (theta
    (list 1 1)))
  (harmless (Phi (list (list 1 0) (list 1 1))) (truth (list 2 -1)) (start (list 0 0)) (steps (list
    3 -1)) (theta (list 2 -1))))

(certificate remark.full-column-rank
  (instance (all-rows (list (list 1 1 0 0) (list 0 0 1 1) (list 1 0 0 0) (list 0 0 1 0) (list 1 1
    0 0) (list 0 0 1 1))) (points (list 0 1 4 5)))
  (harmless (all-rows (list (list 1 1) (list 1 0))) (points (list 0 1))))

(certificate intro.unique-saddle
  (instance (beta 19/20) (r (list (list (* -19/20 (log 2)) (* -19/20 (log 2))))) (P (list (list
    (list 1) (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2)))
    (other (list (list 1 1))))
  (harmless (beta 1/4) (r (list (list (* -1/4 (log 2)) (* -1/4 (log 2))))) (P (list (list (list 1)
    (list 1)))) (nu (list 1)) (anchor 0) (Q (list (list 0 0))) (d (list (list 1/2 1/2))) (other
    (list (list 1 1)))))

(certificate lem:logsumexp_Shannon.proof-step
  (instance (x (list 0 0)) (tau 1))
  (harmless (x (list 1)) (tau 1)))

(certificate related.polyhedral
  (instance (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    0 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 V1) (weight 1/2))
  (harmless (beta 1/2) (P (list (list (list 1) (list 1)))) (r1 (list (list 1 0))) (r2 (list (list
    2 1))) (V1 (list (* 2 (log (+ 1 (exp 1)))))) (V2 (list (+ 2 (* 2 (log (+ 1 (exp 1)))))))
    (weight 1/2)))

(certificate rem:counterfactual-without-P
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list (+ 1 (log 3)) 0))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (let (v (* 2 (log (+ 1
    (* 3 (exp 1)))))) (list (list (+ 1 (log 3) (/ v 2)) (/ v 2))))) (C (let (v (* 2 (+ 1/2 (log
    4)))) (list (list (+ -1/2 1 (log 3) (/ v 2)) (+ 1/2 (/ v 2)))))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (Delta (list
    (list 1 1))) (alpha 1) (Q (list (list (log 2) (log 2)))) (N (list (list (+ 2 (log 2)) (+ 2
    (log 2))))) (C N)))

(certificate lem:anchor_overlap_logit.finite-horizon
  (instance (beta 9/10) (r (list (list (* -9/10 (log 2)) (* -9/10 (log 2))) (list (* -9/10 (log
    2)) (* -9/10 (log 2))))) (P (list (list (list 0 1) (list 1 0)) (list (list 0 1) (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 0 0) (list 0 0))) (H 1) (states (list (list 1 0) (list 1/2
    1/2))))
  (harmless (beta 1/2) (r (list (list (* -1/2 (log 2)) (* -1/2 (log 2))))) (P (list (list (list 1)
    (list 1)))) (anchor (list 0)) (Q (list (list 0 0))) (H 1) (states (list (list 1) (list 1)))))

(certificate prop:linConvergence.two-sided-PL
  (instance (beta 19/20) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (* -19/20
    (log 2)))) (radius-squared 2) (zeta (list (log 2))) (theta (list 0 0)) (other (list 1 1)))
  (harmless (beta 1/4) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (radius-squared
    2) (mu 1) (zeta (list 0)) (theta (list 1)) (other (list 0))))

(certificate prop:linConvergence.single-stepsize
  (instance (beta 7/10) (scale 1/2))
  (harmless (beta 1/4) (scale 2)))

(certificate prop:linConvergence.strong-concavity
  (instance (beta 19/20) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list 0)))
    (features (list (list 1 1))) (pairs (list 0)) (phi (list 0 0)) (other (list 1 -1)))
  (harmless (beta 19/20) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list 0)))
    (features (list (list 1))) (pairs (list 0)) (rho 361/200) (phi (list 0)) (other (list 1))))

(certificate lem:lipsSmooth.hessian-of-V
  (instance (q (list 0 0)) (G (list (list 1) (list 1))) (h (list 1)))
  (harmless (q (list 1)) (G (list (list 2))) (h (list 1))))

(certificate lem:lipsSmooth.NLL-bound
  (instance (n (list (list (list 1) (list 0)))) (q (list (list 0 0))) (slopes (list (list (list 1)
    (list -1)))) (bends (list (list (list (list 0)) (list (list 0))))) (h (list 1)) (B 1) (B2 0))
  (harmless (n (list (list (list 1) (list 0) (list 0) (list 0)))) (q (list (list 0 0 -30 -30)))
    (slopes (list (list (list 1) (list -1) (list 0) (list 0)))) (bends (list (vec a 4 (list (list
    0))))) (h (list 1)) (B 1) (B2 0)))

(certificate lem:EmpLipschitz
  (instance (beta 19/20) (n (list (list (list 0 1) (list 0 0)) (list (list 0 0) (list 0 0))))
    (anchor (list 0 0)) (r (list (- 39/20 (* 19/20 (log 2))) 0)) (largest-reward (- 39/20 (* 19/20
    (log 2)))) (q (list (list -1 1) (list 1 1))) (slopes (list (list (list -1) (list 1)) (list
    (list 1) (list 1)))) (corners (list (list 0) (list -2))) (weights (list 1 0)) (B 1) (M 39/10))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (largest-reward
    0) (q (list (list 1))) (slopes (list (list (list 1)))) (corners (list (list 0))) (weights
    (list 1)) (B 1) (M 3/2)))

(certificate lem:lipsSmooth.L-theta
  (instance (beta 19/20) (n (list (list (list 0 1) (list 0 0)) (list (list 0 0) (list 0 0))))
    (anchor (list 0 0)) (r (list (- 20 (* 19/20 (log 2))) 0)) (largest-reward (+ 20 (* 19/20 (log
    2)))) (q (list (list -20 20) (list 0 0))) (slopes (list (list (list 0 -1) (list 0 1)) (list
    (list 1 0) (list -1 0)))) (bends (vec s 2 (vec a 2 (vec i 2 (list 0 0))))) (corners (list
    (list -1 0) (list 1 0) (list -1 -40) (list 1 -40))) (weights (list 1/2 1/2 0 0)) (h (list 1
    0)) (B 1) (B2 0) (M (+ 40 (* 19/20 (+ (log 2) (log (+ (exp 20) (exp -20))))))))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (largest-reward
    0) (q (list (list 0))) (slopes (list (list (list 1)))) (bends (list (list (list (list 0)))))
    (corners (list (list 0))) (weights (list 1)) (h (list 1)) (B 1) (B2 0) (M 0)))

(certificate lem:lipsSmooth.L-zeta
  (instance (beta 19/20) (n (list (list (list 60) (list 40)))) (anchor (list 0)) (Q (list (list 0
    0))) (first (list 0)) (second (list 1)))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (Q (list (list 0))) (first
    (list 0)) (second (list 1))))

(certificate sec:occupancy.conclusion
  (instance (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (list (list (list 0 1)
    (list 0 1)) (list (list 1 0) (list 1 0)))) (nu (list 1 0)) (pi (list (list 1/4 3/4) (list 1/4
    3/4))) (rival pi) (d (list (list 1/6 1/2) (list 1/12 1/4))) (Q (vec s 2 (vec a 2 (+ (r s a) (*
    3/4 (log 3)))))))
  (harmless (beta 1/2) (r (list (list 0 0) (list 1 0))) (P (list (list (list 1 0) (list 0 1))
    (list (list 0 1) (list 0 1)))) (nu (list 1 0)) (pi (list (list 1 0) (list 1/2 1/2))) (rival
    (list (list 1 0) (list 1 0))) (d (list (list 1 0) (list 0 0))) (Q (list (list 0 1) (list 2
    1)))))

(certificate text.state-space-size
  (instance (limit 10) (K 100))
  (harmless (limit 10) (K 0)))

(certificate setup.reachable-set
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1)) (Q
    (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (piece (list (/ c (+ 1 (* 2 c))))))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1)) (Q
    (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (c 1) (piece (list 1))))

(certificate thm:MagnacThesmar
  (instance (beta 1/2) (r (list (list 0) (list 0))) (P (list (list (list 0 1)) (list (list 0 1))))
    (nu (list 1 0)) (anchor (list 0 0)) (Q (list (list 0) (list 0))) (d (list (list 1/2) (list
    1/2))) (other (list (list 1) (list 2))) (piece (list 1 (/ c (+ 1 (* 2 c))))))
  (harmless (beta 1/2) (r (list (list 1) (list 1))) (P (list (list (list 0 1)) (list (list 0 1))))
    (nu (list 1 0)) (anchor (list 0 0)) (Q (list (list 2) (list 2))) (d (list (list 1/2) (list
    1/2))) (other Q) (c 1) (piece (list 1 1))))

(certificate lem:minMLE
  (instance (beta 1/2) (r (list (list 0 0) (list 0 0))) (P (list (list (list 0 1) (list 0 1))
    (list (list 0 1) (list 0 1)))) (nu (list 1 0)) (Q (list (list (log 2) (log 2)) (list (log 2)
    (log 2)))) (d (list (list 1/4 1/4) (list 1/4 1/4))) (member (list (list 0 0) (list (log 3)
    0))) (piece (list 1 (/ c (+ 1 (* 2 c))))))
  (harmless (beta 1/2) (r (list (list 0 0) (list 0 0))) (P (list (list (list 0 1) (list 0 1))
    (list (list 0 1) (list 0 1)))) (nu (list 1 0)) (Q (list (list (log 2) (log 2)) (list (log 2)
    (log 2)))) (d (list (list 1/4 1/4) (list 1/4 1/4))) (member (list (list 0 0) (list 3 3))) (c
    1) (piece (list 1 1))))

(certificate def:ERM.continuous-states
  (instance (beta 1/2) (gap (list 0)) (mean (list 0)) (noise (list 1)))
  (harmless (beta 1/2) (gap (list 1)) (mean (list 1)) (noise (list 0))))

(certificate alg:estimation1.is-GDA
  (instance (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (phi (list (list 1 0)
    (list 0 1))) (chi (list (list 1 0) (list 1 1))) (theta (list (log 1/2) (log 1/2))) (eta (list
    -1 4)))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (phi (list (list 1))) (chi
    (list (list 1))) (theta (list 1)) (eta (list 3))))

(certificate exp.jacobian-condition
  (instance (inputs 3) (hidden 10) (outputs 2) (M 7456))
  (harmless (inputs 1) (hidden 10) (outputs 2) (M 40)))

(certificate prop:linConvergence.quadratic-growth
  (instance (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (* -1/2 (+ 1
    (log 2))))) (Phi (list (list 1 0 0) (list 0 1 0))) (radius-squared 2) (theta (let (m (/ (* 2
    c) (+ 1 c))) (let (over (+ 1 (* 2 (^ m 2)))) (list (/ (- (* 2 (^ m 2)) 1) over) (/ (- (* 2 (^
    m 2)) 1) over) (/ (* 4 m) over))))) (near (list -1 -1 0)) (p 1/64))
  (harmless (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0)) (r (list (* -1/2 (+ 1
    (log 2))))) (Phi (list (list 1 0) (list 0 1))) (radius-squared 2) (c 1/8) (theta (list 0 0))
    (near (list -1 -1)) (p 1/64)))

(certificate tab.mlirl-r-versus-Q
  (instance (n 1) (theta (list 1.012541 5.041611)))
  (harmless (n 0) (theta (list 0.958922 4.777533))))

(certificate tab.gladius-r-versus-Q
  (instance (n 0) (method 0))
  (harmless (n 0) (method 1)))

(certificate tab.mape-from-tables
  (instance (n 1) (method 2))
  (harmless (n 1) (method 0)))

(certificate text.who-is-better-where
  (instance (n 0) (oracle 1))
  (harmless (n 1) (oracle 1)))

(certificate text.action-zero
  (instance (x 0))
  (harmless (x 4)))

(certificate text.bc-consistently-better
  (instance (i 0))
  (harmless (i 2)))

(certificate alg:estimation1.bookkeeping
  (instance (limit 10) (budget 10000) (counted 0) (tested 1) (box (list 2 2 1)) (text (list 1 2))
    (start (list 2 1)) (closing (list 1 2)))
  (harmless (limit 10) (budget 10000) (counted 0) (tested 0) (box (list 1 2 2)) (text (list 1 2))
    (start (list 2 1)) (closing (list 2 1))))

(certificate lem:ExpofLargerGumbel
  (instance (gamma 0.57721566490153286061) (nu (list 1 1)))
  (harmless (gamma 0.57721566490153286061) (nu (list 0 3))))

(certificate rem:sub-gaussian-features
  (instance (present 1/2) (d (+ least (/ (+ 1 (log 2)) rate))))
  (harmless (present (- 1 (exp -5))) (least 1) (rate 1/200) (d 1000)))

(certificate prop:linConvergence.population-rate
  (instance (cells 3) (cell (list 0 1 2 0)) (A 2))
  (harmless (cells 3) (cell (list 0 2)) (A 2)))

(certificate prop:linConvergence.growing-class
  (instance (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (vec s 2 (vec a 2 (list
    1/42 41/42)))) (nu (list 1/42 41/42)) (anchor (list 0 0)) (Q (vec s 2 (list (log 4) (log
    12)))) (d (vec s 2 (vec a 2 (* (if (= s 0) 1/42 41/42) (if (= a 0) 1/4 3/4))))) (other (list
    (list (log 4) (log 12)) (list 0 0))) (N 20) (C 2) (K 882) (p 1/4))
  (harmless (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (vec s 2 (vec a 2 (list 1/2
    1/2)))) (nu (list 1/2 1/2)) (anchor (list 0 0)) (Q (vec s 2 (list (log 4) (log 12)))) (d (vec
    s 2 (vec a 2 (* 1/2 (if (= a 0) 1/4 3/4))))) (other Q) (N 20) (C 2) (K 2) (p 1/4)))

(certificate tab.frequency
  (instance (n 1) (N 1000))
  (harmless (n 1) (N 200)))

(certificate lem:NNenjoysPL
  (instance (f 2) (m 4) (points (list (list 0 1) (list 1 1) (list 2 1))) (theta (list 1 -2 1/2 3 1 0
    -1 2 1 1/3 -1/2 1 0 1/4 -3 1 1)) (e (list 1 -2 1)))
  (harmless (f 0) (m 1) (points (list (list -1) (list 0) (list 1))) (mu 1/10) (theta (list 1 1 1
    0)) (e (list 1 -2 1))))

(certificate lem:erm_ddc_quant_identification
  (instance (beta 9/10) (r (vec s 13 (list (* -9/10 (log 2)) (* -9/10 (log 2))))) (P (vec s 13
    (list (vec t 13 (if (= t (if (< s 12) (+ s 1) 12)) 1 0)) (vec t 13 (if (= t 0) 1 0))))) (nu
    (vec s 13 (if (= s 0) 1 0))) (anchor (vec s 13 0)) (Qstar (vec s 13 (list 0 0))) (d (vec s 13
    (vec a 2 (* 1/2 (if (< s 12) 11/20 1) (^ 9/20 s))))) (Q (vec s 13 (vec a 2 (^ 9/10 (- 12
    s))))) (C 100000) (inverse (vec s 13 (vec t 13 (if (< t s) 0 (/ (^ 9/10 (- t s)) (if (= t 12)
    1/10 1)))))) (kappa 400) (p 1/2) (l 1))
  (harmless (beta 9/10) (r (list (list (* -9/10 (log 2)) (* -9/10 (log 2))))) (P (list (list (list
    1) (list 1)))) (nu (list 1)) (anchor (list 0)) (Qstar (list (list 0 0))) (d (list (list 1/2
    1/2))) (Q (list (list 1 1))) (C 1000) (inverse (list (list 10))) (kappa 10) (p 1/2) (l 1)))
