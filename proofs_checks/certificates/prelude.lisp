; The paper's objects, defined once. An index is a number from 0; a table is a list of rows, and
; (Q s a) is its entry. Names defined here have this meaning in every statement.

(def (abs x) (larger x (- x)))
(def (hess f x) (grad (fn (y) (grad f y)) x))

; --- types of numbers
(def (real x) (= x x))
(def (nonnegative x) (>= x 0))
(def (positive x) (> x 0))
(def (share x) (and (>= x 0) (<= x 1)))
(def (discount x) (and (> x 0) (< x 1)))

; --- choices: V_Q(s) = log sum_a exp Q(s, a), p-hat_Q(a | s) = exp Q(s, a) / sum_b exp Q(s, b)
(def (V row) (log (sum b (len row) (exp (row b)))))
(def (choice row a) (/ (exp (row a)) (sum b (len row) (exp (row b)))))
(def (entropy chances)
  (sum a (len chances) (if (= (chances a) 0) 0 (- (* (chances a) (log (chances a)))))))

; --- E[v(s') | s, a], E[V_Q(s') | s, a] and the Bellman operator (TQ)(s, a)
(def (ahead P v s a) (sum t (len v) (* (P s a t) (v t))))
(def (next P Q s a) (ahead P (vec t (len Q) (V (Q t))) s a))
(def (T r beta P Q s a) (+ (r s a) (* beta (next P Q s a))))
(def (of-policy pi Q) (vec s (len Q) (sum a (len (Q s)) (* (pi s a) (Q s a)))))

; pairs whose reward is read off wrongly from Q where the expert plays pi
(def (misread r beta P pi Q)
  (sum s (len Q) (sum a (len (Q s))
    (if (= (r s a) (- (Q s a) (* beta (ahead P (of-policy pi Q) s a)))) 0 1))))

; --- E[L_TD(Q)(s, a, s')] and E[(V_Q(s') - z)^2 | s, a]
(def (td r beta P Q s a)
  (sum t (len Q) (* (P s a t) (^ (- (+ (r s a) (* beta (V (Q t)))) (Q s a)) 2))))
(def (spread P Q s a z) (sum t (len Q) (* (P s a t) (^ (- (V (Q t)) z) 2))))

; --- the objective of the min-max form under the weights d(s, a), the anchor the same everywhere
(def (objective d anchor r beta P Q zeta)
  (sum s (len Q)
    (+ (sum a (len (Q s)) (* (d s a) (- (V (Q s)) (Q s a))))
       (* (d s anchor) (- (td r beta P Q s anchor)
                          (* (^ beta 2) (spread P Q s anchor (zeta s anchor))))))))

; --- norms
(def (dot x y) (sum i (len x) (* (x i) (y i))))
(def (root x) (if (= x 0) 0 (exp (/ (log x) 2))))
(def (norm x) (root (dot x x)))
(def (quadratic m h) (sum i (len h) (* (h i) (dot (m i) h))))
(def (farthest x y) (largest s (len x) (largest a (len (x s)) (abs (- (x s a) (y s a))))))

; S-bar, where a state stands for a cell: an atom, or an interval that is entered uniformly. A point
; of a visited cell has a probability > 0 if all its neighbourhoods have at least some share of the
; cell's, c / (1 + c) for some c > 0. `piece` is the share of one of them, which for an atom is 1
(def (visited d s) (> (sum a (len (d s)) (d s a)) 0))
(def (in-s-bar d piece c s) (and (visited d s) (>= (piece s) (/ c (+ 1 c)))))
(def (farthest-in-s-bar d piece c x y)
  (largest s (len x) (if (in-s-bar d piece c s)
    (largest a (len (x s)) (abs (- (x s a) (y s a)))) 0)))
; how far a step is from the ray in a direction
(def (off-ray step ray)
  (let (factor (if (= (dot ray ray) 0) 0 (larger 0 (/ (dot step ray) (dot ray ray)))))
    (largest i (len step) (abs (- (step i) (* factor (ray i)))))))

; --- a data set: n(s, a, s') are the moves, r the rewards of the anchors a_s, Q and zeta tables
(def (visits n s a) (sum t (len n) (n s a t)))
(def (size n) (sum s (len n) (sum a (len (n s)) (visits n s a))))
(def (nll n Q)
  (/ (sum s (len n) (sum a (len (n s)) (* (visits n s a) (- (V (Q s)) (Q s a))))) (size n)))
; what the ascent changes, the mean of -beta^2 (V_Q(s') - zeta)^2 over anchor rows, zeta (X,), and
; f-hat_N with it
(def (regression n anchor beta Q zeta)
  (- (/ (sum s (len n) (sum t (len n) (* (n s (anchor s) t)
          (^ (* beta (- (V (Q t)) (zeta s))) 2))))
        (size n))))
(def (f-hat n anchor r beta Q zeta)
  (+ (nll n Q)
     (/ (sum s (len n) (sum t (len n) (* (n s (anchor s) t)
          (^ (- (+ (r s) (* beta (V (Q t)))) (Q s (anchor s))) 2))))
        (size n))
     (regression n anchor beta Q zeta)))
; the same with one state, one action, one row and r = 0, so that Q* = 0
(def origin (list 0 0))
(def (one-pair beta Q zeta)
  (f-hat (list (list (list 1))) (list 0) (list 0) beta (list (list Q)) (list zeta)))
; zeta-bar, the mean of V_Q(s') over the anchor rows of s (0 without any), and R_emp = max f-hat_N
(def (zeta-bar n anchor Q)
  (vec s (len n)
    (if (= (visits n s (anchor s)) 0) 0
        (/ (sum t (len n) (* (n s (anchor s) t) (V (Q t)))) (visits n s (anchor s))))))
(def (r-emp n anchor r beta Q)
  (let (mean (zeta-bar n anchor Q))
    (+ (nll n Q)
       (/ (sum s (len n) (* (visits n s (anchor s))
            (^ (- (+ (r s) (* beta (mean s))) (Q s (anchor s))) 2)))
          (size n)))))

; --- classes of Q around a parameter: affine, and with second derivatives
(def (affine q G u) (vec a (len q) (+ (q a) (dot (G a) u))))
(def (straight q slopes u)
  (vec s (len q) (vec a (len (q s)) (+ (q s a) (dot (slopes s a) u)))))
(def (curved q slopes bends u)
  (vec s (len q) (vec a (len (q s))
    (+ (q s a) (dot (slopes s a) u) (/ (quadratic (bends s a) u) 2)))))

; --- a class that is affine in u, for u in the hull of corners; u = 0 is in it as their average with
; the weights. There |Q| is at most its largest at the corners. V is convex in u and grows with Q, so
; it is at most its largest at the corners, and at least V of each action's least Q
(def (is-average weights corners)
  (all j (len (corners 0)) (= (sum c (len corners) (* (weights c) (corners c j))) 0)))
(def (lowest Qs s) (vec a (len (Qs 0 s)) (- (largest c (len Qs) (- (Qs c s a))))))
(def (bounds M largest-reward beta Qs)
  (all s (len (Qs 0)) (all t (len (Qs 0)) (all a (len (Qs 0 t)) (all c (len Qs)
    (let (size (abs (Qs c t a))) (and
      (>= M (+ largest-reward (* beta (abs (V (lowest Qs s)))) size))
      (all b (len Qs) (>= M (+ largest-reward (* beta (abs (V (Qs b s)))) size))))))))))

; --- the printed tables: rows are mileages 1 to 10, columns the actions 0 and 1; the first of two
; has 50 trajectories, the second 1,000. r and Q are known to half a unit of the last digit
(def bus-discount 19/20)
(def half-unit 1/2000)
(def single-precision 1/10000)
(def (columns xs ys) (vec x (len xs) (list (xs x) (ys x))))
(def r-true (columns (vec x 10 (- (+ x 1))) (vec x 10 -5)))
(def q-true (columns (list -52.534 -53.834 -54.977 -56.037 -57.06 -58.069 -59.072 -60.074 -61.074
    -62.074) (vec x 10 -54.815)))
(def r-gladius (list (columns (list -1.074 -1.978 -3.105 -3.844 -4.878 -6.642 -8.406 -10.17 -11.934
    -13.684) (list -4.999 -5.001 -5 -5.001 -5.001 -5.001 -5.001 -5.001 -5.001 -5.002))
    (columns (list -1 -1.935 -2.966 -3.998 -4.966 -5.904 -6.769 -7.633 -8.497 -9.361) (list -5.013
    -5.001 -5 -5.002 -5.002 -5.002 -5.002 -5.003 -5.003 -5.004))))
(def q-gladius (list (columns (list -53.059 -54.27 -55.548 -56.356 -57.419 -59.184 -60.95 -62.715
    -64.481 -66.228) (list -55.311 -55.312 -55.312 -55.312 -55.312 -55.312 -55.312 -55.312 -55.312
    -55.308)) (columns (list -52.431 -53.68 -54.852 -55.942 -56.932 -57.886 -58.745 -59.604 -60.463
    -61.322) (list -54.733 -54.72 -54.721 -54.721 -54.721 -54.721 -54.721 -54.722 -54.722 -54.722))))
(def r-rust (list (columns (list -0.965 -1.931 -2.896 -3.861 -4.827 -5.792 -6.757 -7.722 -8.688
    -9.653) (vec x 10 -4.812)) (columns (list -1.012 -2.023 -3.035 -4.047 -5.058 -6.07 -7.082 -8.093
    -9.105 -10.117) (vec x 10 -5.033))))
(def q-rust (list (columns (list -50.327 -51.584 -52.691 -53.718 -54.708 -55.683 -56.652 -57.619
    -58.585 -59.55) (vec x 10 -52.523)) (columns (list -53.019 -54.33 -55.483 -56.554 -57.588
    -58.608 -59.623 -60.636 -61.648 -62.66) (vec x 10 -55.309))))
(def r-mlirl (list (columns (list -0.959 -1.918 -2.877 -3.836 -4.795 -5.753 -6.712 -7.671 -8.63
    -9.589) (vec x 10 -4.777)) (columns (list -1.013 -2.026 -3.039 -4.052 -5.065 -6.078 -7.091
    -8.104 -9.117 -10.13) (vec x 10 -5.043))))
(def q-mlirl (list (columns (list -49.916 -51.165 -52.266 -53.286 -54.27 -55.239 -56.202 -57.162
    -58.122 -59.081) (vec x 10 -52.096)) (columns (list -53.11 -54.423 -55.578 -56.649 -57.684
    -58.705 -59.721 -60.735 -61.748 -62.76) (vec x 10 -55.405))))
(def r-of (list r-gladius r-rust r-mlirl))
(def q-of (list q-gladius q-rust q-mlirl))
(def frequencies (list (columns (list 412 65 43 24 8 4 1 0 0 0) (list 37 18 80 101 134 37 26 7 2 1))
    (columns (list 7994 1409 1060 543 274 35 8 1 0 0) (list 804 541 1296 1991 2435 829 476 218 73
    10))))
(def trajectories (list 50 1000))
(def horizon 100)
; Table 2's mean and (SE), of GLADIUS, Rust and ML-IRL, known to half-reported
(def table-2 (list (list (list 3.44 1.28) (list 0.52 0.22)) (list (list 3.62 1.70) (list 0.71 0.49))
    (list (list 3.62 1.74) (list 0.64 0.48))))
(def half-reported 1/200)
; Table 4: means of BC and of ERM-IRL by row, and standard deviations of episodes; smaller is better
; where the sign is -1 (Acrobot)
(def returns-bc (list 103.38 104.46 105.99 107.01 107.42 100 100 100 100 100 100.56 101.25 98.08
    97.75 95.33))
(def returns-erm-irl (list 107.3 106.64 101.1 104.46 106.11 100 100 100 100 100 103.67 102.19 100.67
    99.07 96.5))
(def deviations-bc (list 13.78 11.57 10.2 10.75 10.45 0 0 0 0 0 26.71 36.42 24.27 16.67 15.42))
(def deviations-erm-irl (list 10.44 11.11 16.28 13.65 10.65 0 0 0 0 0 32.78 22.69 22.3 20.58 18.53))
(def returns-sign (vec i 15 (if (< i 10) 1 -1)))
(def (residual r Q x a)
  (- (+ (r x a) (* bus-discount (if (= a 1) (V (Q 0)) (/ (sum k 4 (V (Q (+ x k 1)))) 4)))) (Q x a)))
(def (largest-residual r Q)
  (larger (largest x (len r) (abs (residual r Q x 1)))
          (largest x (- (len r) 4) (abs (residual r Q x 0)))))
; the mean relative error in per cent at the first mileages, of actions from, ..., to - 1, at its
; least (side -1) or its most (side 1) for all values of r within half a unit
(def (mape mileages from to n r side)
  (* 100 (/ (sum x mileages (sum a (- to from) (* (frequencies n x (+ from a))
        (/ (larger 0 (+ (abs (- (r x (+ from a)) (r-true x (+ from a)))) (* side half-unit)))
           (abs (r-true x (+ from a)))))))
      (sum x mileages (sum a (- to from) (frequencies n x (+ from a)))))))

; --- linear classes: Q(s, a) = Phi(s, a)' theta, the pairs in a row; R-hat_Q, whose Bellman error is
; a mean over the anchor rows
(def (straight-rows Phi theta) (vec i (len Phi) (dot (Phi i) theta)))
(def (rows S A q) (vec s S (vec a A (q (+ (* s A) a)))))
(def (risk-q n anchor r beta Q)
  (+ (nll n Q) (/ (* (- (r-emp n anchor r beta Q) (nll n Q)) (size n))
                  (sum s (len n) (visits n s (anchor s))))))

; --- wide networks: sum_k v_k f(w_k'(z, 1)) / sqrt(m) + c of m units, theta = (v, w, c);
; f is tanh (0), log(1 + exp x) (1) or x (2)
(def (activated f x)
  (if (= f 0) (- 1 (/ 2 (+ 1 (exp (* 2 x))))) (if (= f 1) (log (+ 1 (exp x))) x)))
(def (wide f m theta z)
  (+ (theta (- (len theta) 1))
     (/ (sum k m (* (theta k) (activated f (let (w (+ m (* k (+ (len z) 1))))
          (+ (theta (+ w (len z))) (sum i (len z) (* (theta (+ w i)) (z i))))))))
        (root m))))

; --- R_exp(Q): the likelihood's part, and that of the anchor's residuals, under d
(def (expected-risk d anchor r beta P Q)
  (sum s (len Q)
    (+ (sum a (len (Q s)) (* (d s a) (- (V (Q s)) (Q s a))))
       (* (d s (anchor s)) (^ (- (T r beta P Q s (anchor s)) (Q s (anchor s))) 2)))))

; --- a listing, its names and batches by number: passes of a loop that tests one name and counts
; another, stopped after the budget; in how many of four ways box, text and parameters differ
(def (passes limit budget counted tested) (if (= tested counted) limit budget))
(def (slips counted tested box text start closing)
  (+ (if (= tested counted) 0 1)
     (if (= (box 0) (text 0)) 0 1)
     (if (and (= (box 1) (text 1)) (= (box 2) (text 1))) 0 1)
     (if (and (= (start 0) (closing 0)) (= (start 1) (closing 1))) 0 1)))

; --- expectations of a polynomial of degree two at most in V, given E V and E V^2: it is the parabola
; through its values at -1, 0 and 1 for all v, which are all those of the step; any other function is
; undecided or divides by zero
(def (parabola f v v2)
  (+ (f 0) (* v 1/2 (- (f 1) (f -1))) (* v2 1/2 (+ (f 1) (f -1) (* -2 (f 0))))))
(def (expectation m1 m2 f)
  (+ (parabola f m1 m2)
     ((grad (fn (v) (if (= (f (v 0)) (parabola f (v 0) (^ (v 0) 2))) 0 (/ 1 0))) (list 0)) 0)))
