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

; the same at the states where inside is 1
(def (farthest-inside inside x y)
  (largest s (len x) (* (inside s) (largest a (len (x s)) (abs (- (x s a) (y s a)))))))
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

; --- the printed tables: rows are mileages 1 to 10; action 0 moves on by 1 to 4, action 1 to 1
(def (residual beta r Q x a)
  (- (+ (r x a) (* beta (if (= a 1) (V (Q 0)) (/ (sum k 4 (V (Q (+ x k 1)))) 4)))) (Q x a)))
(def (largest-residual beta r Q)
  (larger (largest x (len r) (abs (residual beta r Q x 1)))
          (largest x (- (len r) 4) (abs (residual beta r Q x 0)))))
; the mean relative error of actions from, ..., to - 1 in per cent, at its least (side -1) or its
; most (side 1) for all values of r within half a unit
(def (mape from to visited r truth half side)
  (* 100 (/ (sum x (len r) (sum a (- to from) (* (visited x (+ from a))
        (/ (larger 0 (+ (abs (- (r x (+ from a)) (truth x (+ from a)))) (* side (half x (+ from a)))))
           (abs (truth x (+ from a)))))))
      (sum x (len r) (sum a (- to from) (visited x (+ from a)))))))

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
