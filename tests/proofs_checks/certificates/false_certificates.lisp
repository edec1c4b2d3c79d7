; Instances of listed claims that refute nothing, with what verify.py says of them once their digest
; is listed. The verifiers of releases 0.3.0 and 0.4.0 certified them, in the form that statements
; had then; that of 0.4.0 certified four of the five at the end as well.

; --- release 0.3.0
; 1/q < 0 by a logarithm of unproved sign, so that |Q| = (M^2 + 1) / (M^2 - M + 1) seems to exceed M
(false setup.Q-star-bounded "the number of a log is not proved to be positive"
  (instance (beta 1/2)
    (r (list (list (* -1/2 (+ (^ M 2) 1) (exp (- (log (+ M 1)) (log (* (exp (log (+ M 1)))
      (+ (^ M 2) (- M) 1)))))))))
    (P (list (list (list 1))))
    (Q (list (list (* -1 (+ (^ M 2) 1) (exp (- (log (+ M 1)) (log (* (exp (log (+ M 1)))
      (+ (^ M 2) (- M) 1)))))))))))
; a discount factor for each mu: for each of them the objective is a convex parabola
(false prop:linConvergence.two-sided-PL "'mu'"
  (instance (beta (/ (+ 4 (* 3 mu)) (* 8 (+ 1 mu)))) (n (list (list (list 1)))) (anchor (list 0))
    (r (list 0)) (radius-squared 1) (zeta (list 0)) (theta (list 1)) (other (list 0))))

; --- release 0.4.0: a hypothesis of the paper is not met
; without anchor rows f is the likelihood, which is PL on every ball; theta leaves all of them
(false prop:linConvergence.two-sided-PL "not proved: (<= (dot theta theta) radius-squared)"
  (instance (beta 1/4) (n (list (list (list 0) (list 1) (list 3)))) (anchor (list 0)) (r (list 0))
    (radius-squared 1000) (zeta (list 0)) (theta (list 0 0 (- (+ 10 (/ 10 mu)))))
    (other (list 0 (- (+ 10 (/ 10 mu))) 0))))
; the gradient is taken at Q = 3, and M is the largest residual of another class, which is Q = 0
(false lem:EmpLipschitz "not proved: (is-average weights corners)"
  (instance (beta 1/2) (n (list (list (list 1)))) (anchor (list 0)) (r (list 0)) (largest-reward 0)
    (q (list (list 3))) (slopes (list (list (list 1)))) (corners (list (list -3)))
    (weights (list 1)) (B 1) (M 0)))
(false lem:lipsSmooth.L-theta "not proved: (is-average weights corners)"
  (instance (beta 1/2)
    (n (list (list (list 0 1) (list 0 0)) (list (list 0 0) (list 0 0)))) (anchor (list 0 0))
    (r (list 0 0)) (largest-reward 0) (q (list (list -11/2 -11/2) (list 0 0)))
    (slopes (list (list (list 0 1) (list 0 1)) (list (list 1 0) (list -1 0))))
    (bends (vec s 2 (vec a 2 (vec i 2 (list 0 0))))) (corners (list (list 0 11/2)))
    (weights (list 1)) (h (list 1 0)) (B 1) (B2 0) (M 7/20)))
; theta is a minimiser itself, and near another one, far away
(false prop:linConvergence.quadratic-growth "not proved: (= (rank "
  (instance (beta 1/2) (n (list (list (list 1) (list 1)))) (anchor (list 0))
    (r (list (* -1/2 (+ 1 (log 2))))) (Phi (list (list 1 0 0) (list 0 1 0))) (radius-squared 11)
    (theta (list -1 -1 -3)) (near (list -1 -1 3)) (p 1/64)))
; two points in dimension one: J J' is regular at almost every theta, and singular at this one
(false lem:NNenjoysPL "not proved: (all k n (= (sum i M (* (e i) (points i k))) 0))"
  (instance (f 2) (m 1) (points (list (list 0) (list 1))) (theta (list 0 0 0 0)) (e (list 1 -1))))
; C = 10^-9 in a world of one state, where the lemma holds with C = 8
(false lem:erm_ddc_quant_identification "not proved: (= beta 9/10)"
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (anchor (list 0)) (Qstar (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2)))
    (Q (list (list 0 0))) (C 1/1000000000) (inverse (list (list 2))) (kappa 2) (p 1/2) (l 1)))
; `other` is any bad table, which no gradient leaves
(false prop:linConvergence.growing-class "not proved: (implies (> (farthest other Q) 0) "
  (instance (beta 1/2) (r (vec s 2 (list 0 (log 3)))) (P (vec s 2 (vec a 2 (list 1/2 1/2))))
    (nu (list 1/2 1/2)) (anchor (list 0 0)) (Q (vec s 2 (list (log 4) (log 12))))
    (d (vec s 2 (list 1/8 3/8))) (other (vec s 2 (list 0 0))) (N 1000) (C 100) (K 1000000) (p 1/4)))
; one dimension in which one rate is too large; here no rate is named, as all have to be refuted
(false rem:sub-gaussian-features "the printed statement is not disproved"
  (instance (present 999999/1000000) (d least)))
; M = 173 is not the number of points of the paper's design
(false exp.jacobian-condition "not proved: (implies (> M 40) "
  (instance (inputs 3) (hidden 10) (outputs 2) (M 173)))
; rival is pi, in a world where another policy with the same occupancy misreads the reward
(false sec:occupancy.conclusion "not proved: (implies (= (misread r beta P pi Q) 0) "
  (instance (beta 1/2) (r (list (list 0 0) (list 1 0)))
    (P (list (list (list 1 0) (list 0 1)) (list (list 0 1) (list 0 1)))) (nu (list 1 0))
    (pi (list (list 1 0) (list 1/2 1/2))) (rival pi) (d (list (list 1 0) (list 0 0)))
    (Q (list (list 0 1/2) (list 3/2 1/2)))))

; --- release 0.4.0: other numbers than those that the paper prints
(false tab.mlirl-r-versus-Q "the instance does not give what the claim names"
  (instance (half-unit 1/1000000000) (single-precision 7/10000) (n 0)
    (theta (list 0.958922 4.777533))))
(false tab.mape-from-tables "the instance does not give what the claim names"
  (instance (table-2 (list (list (list 3/10 11/50) (list 3/10 11/50)))) (n 1) (method 0)))
(false text.bc-consistently-better "the instance does not give what the claim names"
  (instance (returns-bc (list 1 104.46)) (returns-erm-irl (list 107.3 106.64)) (i 0)))
(false alg:estimation1.bookkeeping
  "not proved: (implies (> (slips counted tested box text start closing) 0) "
  (instance (limit 10) (budget 10000) (counted 0) (tested 1) (box (list 1 2 2)) (text (list 1 2))
    (start (list 2 1)) (closing (list 2 1))))
(false tab.frequency "not proved: (implies (> N (* 1/5 (trajectories n))) (= N (trajectories n)))"
  (instance (n 1) (N 1001)))
; at mileage 2 the sentence is false too: no false certificate, but not the listed one
(false text.action-zero "" (instance (x 1)))

; --- release 0.4.0: a state that is reached with a probability > 0 is called outside S-bar
(false thm:MagnacThesmar "not proved: (all s S (implies (in-s-bar d piece c s) "
  (instance (beta 1/2) (r (list (list 0) (list 0))) (P (list (list (list 0 1)) (list (list 1 0))))
    (nu (list 1 0)) (anchor (list 0 0)) (Q (list (list 0) (list 0))) (d (list (list 2/3)
    (list 1/3))) (other (list (list 1) (list 2))) (piece (list 1 1))))
(false setup.reachable-set "the printed statement is not disproved"
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (Q (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (piece (list 1))))
(false lem:minMLE "not proved: (all s S (all a A (implies (in-s-bar d piece c s) "
  (instance (beta 1/2) (r (list (list 0 0) (list 0 0))) (P (vec s 2 (vec a 2 (list 1/2 1/2))))
    (nu (list 1/2 1/2)) (Q (list (list (log 2) (log 2)) (list (log 2) (log 2))))
    (d (list (list 1/4 1/4) (list 1/4 1/4))) (member (list (list 0 0) (list (log 3) 0)))
    (piece (list 1 1))))

; --- more: what the first repairs of these would still have let through
; u = 0 is in the hull, and at its corners |V| is at most 4; but V is -7 + log 2 at u = 0 in the
; last state, so that M = 13.16, with which the lemma holds
(false lem:EmpLipschitz "not proved: (bounds M largest-reward beta "
  (instance (beta 1/2) (n (vec s 3 (vec a 2 (vec t 3 (if (and (= s 0) (= a 0) (= t 1)) 1 0)))))
    (anchor (list 0 0 0)) (r (list 0 0 0)) (largest-reward 0)
    (q (list (list -10 -4) (vec a 2 (- 4 (log (+ 1 (exp -6))) (log 2))) (list -7 -7)))
    (slopes (list (list (list 0 -1) (list 0 1)) (list (list 0 1) (list 0 1))
      (list (list 1 0) (list -1 0))))
    (corners (list (list 3 0) (list -3 0))) (weights (list 1/2 1/2)) (B 1)
    (M (- 12 (/ (log (+ 1 (exp -6))) 2)))))
; two states are not reached: rival differs from pi in one of them, where nothing can be misread
(false sec:occupancy.conclusion "not proved: (implies (= (misread r beta P pi Q) 0) "
  (instance (beta 1/2) (r (list (list 0 0) (list 0 0) (list 1 0)))
    (P (vec s 3 (vec a 2 (list 1 0 0)))) (nu (list 1 0 0)) (pi (vec s 3 (list 1/2 1/2)))
    (rival (list (list 1/2 1/2) (list 1 0) (list 1/2 1/2)))
    (d (list (list 1/2 1/2) (list 0 0) (list 0 0))) (Q (list (list 0 0) (list 0 0) (list 1 0)))))
; C = 10^-9 for N = 1, and in a chain of one state
(false prop:linConvergence.growing-class "not proved: (= C (/ N 10))"
  (instance (beta 1/2) (r (list (list 0 (log 3)) (list 0 (log 3)))) (P (vec s 2 (vec a 2 (list 1/4
    3/4)))) (nu (list 1/4 3/4)) (anchor (list 0 0)) (Q (vec s 2 (list (log 4) (log 12))))
    (d (vec s 2 (vec a 2 (* (if (= s 0) 1/4 3/4) (if (= a 0) 1/4 3/4))))) (other (list (list (log 4) (log
    12)) (list 0 0))) (N 1) (C 1/1000000000) (K 8) (p 1/4)))
(false lem:erm_ddc_quant_identification "not proved: (>= C "
  (instance (beta 9/10) (r (list (list (* -9/10 (log 2)) (* -9/10 (log 2))))) (P (list (list (list
    1) (list 1)))) (nu (list 1)) (anchor (list 0)) (Qstar (list (list 0 0))) (d (list (list 1/2
    1/2))) (Q (list (list 1 1))) (C 1/1000000000) (inverse (list (list 10))) (kappa 10) (p 1/2)
    (l 1)))
; a neighbourhood has half of the cell, which says nothing of smaller ones
(false setup.reachable-set "the condition of an `if` is not decided"
  (instance (beta 1/2) (r (list (list 0 0))) (P (list (list (list 1) (list 1)))) (nu (list 1))
    (Q (list (list (log 2) (log 2)))) (d (list (list 1/2 1/2))) (piece (list 1/2))))
