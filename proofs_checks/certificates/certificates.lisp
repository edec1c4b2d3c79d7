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
    (log 2)))) (zeta (list (log 2))) (theta (list 0 0)) (other (list 1 1)))
  (harmless (beta 1/4) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (mu 1) (zeta
    (list 0)) (theta (list 1)) (other (list 0))))

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
    (list 1) (list 1)))) (corners (list (list 0) (list -2))) (B 1) (M 39/10))
  (harmless (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (largest-reward
    0) (q (list (list 1))) (slopes (list (list (list 1)))) (corners (list (list 0))) (B 1) (M
    3/2)))

(certificate lem:lipsSmooth.L-theta
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
    (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (atom (list 0)))
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1)) (Q
    (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (atom (list 1))))

(certificate thm:MagnacThesmar
  (instance (beta 1/2) (r (list (list 0) (list 0))) (P (list (list (list 0 1)) (list (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 0) (list 0))) (other (list (list 1) (list 2))) (inside
    (list 1 0)))
  (harmless (beta 1/2) (r (list (list 1) (list 1))) (P (list (list (list 0 1)) (list (list 0 1))))
    (anchor (list 0 0)) (Q (list (list 2) (list 2))) (other Q) (inside (list 1 1))))

(certificate lem:minMLE
  (instance (beta 1/2) (r (list (list 0 0) (list 0 0))) (P (list (list (list 0 1) (list 0 1))
    (list (list 0 1) (list 0 1)))) (nu (list 1 0)) (Q (list (list (log 2) (log 2)) (list (log 2)
    (log 2)))) (d (list (list 1/4 1/4) (list 1/4 1/4))) (member (list (list 0 0) (list (log 3)
    0))) (inside (list 1 0)))
  (harmless (beta 1/2) (r (list (list 0 0) (list 0 0))) (P (list (list (list 0 1) (list 0 1))
    (list (list 0 1) (list 0 1)))) (nu (list 1 0)) (Q (list (list (log 2) (log 2)) (list (log 2)
    (log 2)))) (d (list (list 1/4 1/4) (list 1/4 1/4))) (member (list (list 0 0) (list 3 3)))
    (inside (list 1 1))))

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
  (instance (beta 19/20) (half 1/2000) (theta-1 5) (r (list (list -1 -5) (list -2 -5) (list -3 -5)
    (list -4 -5) (list -5 -5) (list -6 -5) (list -7 -5) (list -8 -5) (list -9 -5) (list -10 -5)))
    (Q (list (list -26267/500 -10963/200) (list -26917/500 -10963/200) (list -54977/1000
    -10963/200) (list -56037/1000 -10963/200) (list -2853/50 -10963/200) (list -58069/1000
    -10963/200) (list -7384/125 -10963/200) (list -30037/500 -10963/200) (list -30537/500
    -10963/200) (list -31037/500 -10963/200))) (x 0))
  (harmless (beta 19/20) (half 1/2000) (theta-1 5) (r (list (list -5 -5))) (Q (list (list 0 0)))
    (x 0)))

(certificate text.bc-consistently-better
  (instance (bc (list 5169/50 5223/50 10599/100 10701/100 5371/50 100 100 100 100 100 2514/25
    405/4 2452/25 391/4 9533/100)) (erm-irl (list 1073/10 2666/25 1011/10 5223/50 10611/100 100
    100 100 100 100 10367/100 10219/100 10067/100 9907/100 193/2)) (sign (list 1 1 1 1 1 1 1 1 1 1
    -1 -1 -1 -1 -1)) (i 0))
  (harmless (bc (list 5169/50 5223/50 10599/100 10701/100 5371/50 100 100 100 100 100 2514/25
    405/4 2452/25 391/4 9533/100)) (erm-irl (list 1073/10 2666/25 1011/10 5223/50 10611/100 100
    100 100 100 100 10367/100 10219/100 10067/100 9907/100 193/2)) (sign (list 1 1 1 1 1 1 1 1 1 1
    -1 -1 -1 -1 -1)) (i 2)))

(certificate alg:estimation1.bookkeeping
  (instance (limit 10) (budget 10000) (counted 0) (tested 1) (box (list 2 2 1)) (text (list 1 2))
    (start (list 2 1)) (closing (list 1 2)))
  (harmless (limit 10) (budget 10000) (counted 0) (tested 0) (box (list 1 2 2)) (text (list 1 2))
    (start (list 2 1)) (closing (list 2 1))))

(certificate lem:ExpofLargerGumbel
  (instance (gamma 0.57721566490153286061) (nu (list 1 1)))
  (harmless (gamma 0.57721566490153286061) (nu (list 0 3))))

(certificate rem:sub-gaussian-features
  (instance (d 1000) (present 1/2) (rate 1/200))
  (harmless (d 1000) (present 1) (rate 1/200)))

(certificate prop:linConvergence.population-rate
  (instance (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (vec s 2 (vec a 2 (list 1/42
    41/42)))) (nu (list 1/42 41/42)) (anchor (list 0 0)) (Q (vec s 2 (list (log 4) (log 12)))) (d (vec s 2
    (vec a 2 (* (if (= s 0) 1/42 41/42) (if (= a 0) 1/4 3/4))))) (other (list (list (log 4) (log
    12)) (list 0 0))) (N 20) (C 2) (K 882) (p 1/4))
  (harmless (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (vec s 2 (vec a 2 (list 1/2
    1/2)))) (nu (list 1/2 1/2)) (anchor (list 0 0)) (Q (vec s 2 (list (log 4) (log 12)))) (d (vec s 2 (vec
    a 2 (* 1/2 (if (= a 0) 1/4 3/4))))) (other Q) (N 20) (C 2) (K 2) (p 1/4)))

(certificate tab.frequency
  (instance (N 1000) (H 100) (counts (list (list 7994 804) (list 1409 541) (list 1060 1296) (list
    543 1991) (list 274 2435) (list 35 829) (list 8 476) (list 1 218) (list 0 73) (list 0 10))))
  (harmless (N 200) (H 100) (counts (list (list 7994 804) (list 1409 541) (list 1060 1296) (list
    543 1991) (list 274 2435) (list 35 829) (list 8 476) (list 1 218) (list 0 73) (list 0 10)))))

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
  (harmless (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (anchor (list 0)) (Qstar (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (Q (list
    (list 0 0))) (C 8) (inverse (list (list 2))) (kappa 2) (p 1/2) (l 1)))
