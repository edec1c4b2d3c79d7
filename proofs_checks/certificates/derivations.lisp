; Derivations of claims that hold: each goal is a sum of assumptions times multipliers that are not
; negative: ("name" m (>= a b)) adds m (a - b), and (square m (square x)) adds m x^2. Sums over
; states are linear, so a step for one term, or with the sums as symbols, is one for any number.

; --- the Bellman error and its forms: v is V(s'), m1 and m2 are the means of V and V^2, the target
; is r + beta v, and the backup r + beta m1
(derivation lem:expTD=BE
  (real r q m1 m2) (nonnegative beta)
  (steps
    (step (= (expectation m1 m2 (fn (v) (+ r (* beta v)))) (+ r (* beta m1))))
    (step (= (expectation m1 m2 (fn (v) (- (+ r (* beta v)) q))) (- (+ r (* beta m1)) q))))
  (joined "The operator, then the error, for any distribution of s'."))

(derivation eq:double-sampling
  (real r q m1 m2) (nonnegative beta)
  (steps
    (step (=
      (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
      (+ (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) (expectation m1 m2 (fn (v) (^ (- m1 v) 2)))))))
    ; a world of three values: the TD error is stationary at (1/2, 1/2, 3/2)
    (step (= (let (slope (grad (fn (x) (+
        (* 1/4 (^ (- (* 1/2 (x 1)) (x 0)) 2)) (* 1/4 (^ (- (* 1/2 (x 2)) (x 0)) 2))
        (* 1/4 (^ (- (* 1/2 (x 1)) (x 1)) 2)) (* 1/4 (^ (- (+ 1 (* 1/2 (x 2))) (x 2)) 2))))
      (list 1/2 1/2 3/2))) (dot slope slope)) 0))
    ; where the Bellman error is 1/32
    (step (= (let (x (list 1/2 1/2 3/2))
        (+ (* 1/2 (^ (- (* 1/2 1/2 (+ (x 1) (x 2))) (x 0)) 2))
           (* 1/16 (+ (^ (x 1) 2) (^ (- 2 (x 2)) 2)))))
      1/32)))
  (joined "The decomposition for any distribution; a world whose TD minimiser has Bellman error 1/32."))

(derivation eq:biconjugate
  (real x h)
  (steps (step (>= (^ x 2) (- (* 2 x h) (^ h 2))) (square 1 (square (- x h)))))
  (joined "Zero at h = x, the mean TD error, and nowhere else."))

(derivation eq:SBEED
  (real r q rho m1 m2) (nonnegative beta)
  (steps (step (=
    (expectation m1 m2 (fn (v) (- (^ (- (+ r (* beta v)) q) 2) (^ (- (+ r (* beta v)) rho) 2))))
    (- (^ (- (+ r (* beta m1)) q) 2) (^ (- rho (+ r (* beta m1))) 2)))))
  (joined "So rho = TQ is the one maximiser."))

(derivation lem:OurBiconj.a
  (real r q z m1 m2) (nonnegative beta)
  (steps (step (=
    (- (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
       (* (^ beta 2) (expectation m1 m2 (fn (v) (^ (- v z) 2)))))
    (- (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) (^ (- z m1) 2))))))
  (joined "D(Q) is the deviation at zeta = E V."))

(derivation lem:OurBiconj.b
  (real r q z m1 m2) (nonnegative beta)
  (steps
    (step (>= (expectation m1 m2 (fn (v) (^ (- v z) 2))) (expectation m1 m2 (fn (v) (^ (- v m1) 2))))
      (square 1 (square (- z m1))))
    (step (= (- q (* beta z)) r)
      ("Bellman equation" 1 (= q (+ r (* beta m1))))
      ("zeta* is stationary" (/ (- beta) 2)
        (= ((grad (fn (u) (expectation m1 m2 (fn (v) (^ (- v (u 0)) 2)))) (list z)) 0) 0))))
  (joined "zeta* is the mean of V*; then Q* = r + beta zeta*."))

(derivation def:ERM.finite-states
  (real r q s1 s2) (nonnegative beta) (positive n) ; sums of V and V^2 over the n rows of a pair
  (steps (step (=
    (- (+ (* n (^ (- r q) 2)) (* 2 beta (- r q) s1) (* (^ beta 2) s2))
       (* (^ beta 2) (- s2 (/ (^ s1 2) n))))
    (* n (^ (- (+ r (/ (* beta s1) n)) q) 2)))))
  (joined "For each pair; zeta-bar is the mean s1/n."))

(derivation alg:estimation_deterministic
  (real r q v m1 m2) (nonnegative beta)
  (steps
    (step (= (expectation m1 m2 (fn (x) (^ (- x v) 2))) 0)
      ("certain moves" (* -2 v) (= m1 v))
      ("certain moves" 1 (= m2 (^ v 2))))
    (step (=
      ((grad (fn (u) (- (^ (- (+ r (* beta (u 0))) q) 2) (* (^ beta 2) (^ (- (u 0) v) 2)))) (list v)) 0)
      ((grad (fn (u) (^ (- (+ r (* beta (u 0))) q) 2)) (list v)) 0)))
    (step (= (- q (* beta v)) r)
      ("Bellman equation" 1 (= q (+ r (* beta m1))))
      ("certain moves" beta (= m1 v))))
  (joined "Value, slope at zeta = V(s'), and the reward."))

; --- the softmax and the entropy
(derivation eq:softmax-lower-bound
  (nonnegative S) (positive A M m u) ; u/S >= m/(A M) without its denominators
  (steps (step (>= (* A M u) (* m S))
    ("u >= exp(Q_-)" (* A M) (>= u m))
    ("sum <= |A| exp(Q_+)" m (>= (* A M) S))))
  (joined "u/S >= m/(A M), any |A|."))

(derivation eq:KL-chi-square ; D = (pi - p)^2
  (real log-ratio) (nonnegative D) (positive p ratio p_-)
  (steps
    (step (>= (* p (^ (- ratio 1) 2)) (* p (+ (- (* ratio log-ratio) ratio) 1)))
      ("log t <= t - 1" (* p ratio) (>= (- ratio 1) log-ratio)))
    ; t - 1 - log t is 0 at 1, and has this derivative
    (step (= ((grad (fn (t) (- (t 0) 1 (log (t 0)))) (list ratio)) 0) (/ (- ratio 1) ratio)))
    (step (>= (/ D p_-) (/ D p)) ("p >= p_-" (/ D (* p p_-)) (>= p p_-))))
  (joined "Summed over actions with t = pi/p: the terms of KL, as both add up to one."))

(derivation rem:BC-superset
  (real x y) (nonnegative beta) ; x = max c, y = E c(s')
  (steps (step (>= (- x (* beta y)) (* (- 1 beta) x)) ("x is the largest" beta (>= x y))))
  (joined "At the largest c, or for -c."))

; --- contraction, coercivity, overlap
(derivation thm:MagnacThesmar.contraction
  (real x y) (nonnegative beta P) ; y = sum p d, x = max |d|
  (steps (step (>= (* beta x) (* beta y))
    ("P adds up to one" (* beta x) (= 1 P))
    ("f_1 - f_2 <= x" beta (>= (* x P) y))))
  (joined "y = sum p d, x = max |d|."))

(derivation lem:bellman_shift_coercivity
  (real agree all-of-it square-of-it) (nonnegative beta) (positive m n) ; agree = sum_x P_x s_x s_j
  (steps
    (step (>= (* m (- 1 (* beta agree))) (* (- 1 beta) m))
      ("signs agree at most wholly" (* beta m) (>= 1 agree)))
    (step (>= square-of-it (/ (^ all-of-it 2) n))
      ("pairs of squares" (/ 1 n) (>= (* n square-of-it) (^ all-of-it 2)))))
  (joined "s'(E - beta T)'u >= (1 - beta)|u|_1 term by term, s = sign u; |w|_2 >= |w|_1/sqrt(X)
    (Cauchy and Schwarz), |u|_1 >= |u|_2, and a block's mean has 1/sqrt(A) of the length."))

(derivation lem:anchor_overlap_logit
  (nonnegative beta first others S P) (positive p p_A A M m u) ; a state of weight S, a target y
  (steps
    (step (>= (+ first (* beta S (+ (* p P) others))) (* beta p_A S P))
      ("pi(a_s|s) >= p_A" (* beta S P) (>= p p_A))
      (square first (square 1))
      (square (* beta S others) (square 1)))
    (step (>= (* A M u) (* m S))
      ("u >= exp(Q_-)" (* A M) (>= u m))
      ("sum <= |A| exp(Q_+)" m (>= (* A M) S))))
  (joined "Summed over s."))

; --- Polyak-Lojasiewicz
(derivation eq:abc-inequality
  (real a b c d) (positive kappa) ; |a|^2, |b|^2, |c|^2 and <a, b>; lead is 1 - 1/(2 (1 + kappa^2))
  (steps (step
    (>= (+ a (* 2 d) b c) (+ (/ a (* 2 (+ 1 (^ kappa 2)))) (/ c 2)))
    ("|b| <= kappa |c|" (/ 1 (* 2 (^ kappa 2))) (>= (* (^ kappa 2) c) b))
    ("|lead a + b|^2 >= 0" (/ (* 2 (+ 1 (^ kappa 2))) (+ 1 (* 2 (^ kappa 2))))
      (>= (+ (* (^ (/ (+ 1 (* 2 (^ kappa 2))) (* 2 (+ 1 (^ kappa 2)))) 2) a)
             (* 2 (/ (+ 1 (* 2 (^ kappa 2))) (* 2 (+ 1 (^ kappa 2)))) d) b) 0))
    ("|b|^2 >= 0" (/ 1 (* 2 (^ kappa 2) (+ 1 (* 2 (^ kappa 2))))) (>= b 0))))
  (joined "Any dimension: only lengths and one inner product occur."))

(derivation lem:BE_PL ; G, C, W: |grad|^2, |A'..|^2, |W Psi|^2
  (nonnegative G C W L) (positive mu gamma omega_- omega_+ omega)
  (steps
    (step (>= (^ omega 2) (* (/ (^ omega_- 2) omega_+) omega))
      ("omega >= omega_-" omega (>= omega omega_-))
      ("omega_+ >= omega_-" (/ (* omega omega_-) omega_+) (>= omega_+ omega_-)))
    (step (>= (/ G 2) (* 2 mu (^ gamma 2) (/ (^ omega_- 2) omega_+) L))
      ("J J' >= mu I" 1/2 (>= G (* mu C)))
      ("coercivity" (/ mu 2) (>= C (* 4 (^ gamma 2) W)))
      ("sum omega^2 Psi^2 >= ratio L_BE" (* 2 mu (^ gamma 2))
        (>= W (* (/ (^ omega_- 2) omega_+) L)))))
  (joined "G, C, W: |grad|^2, |A'..|^2, |W Psi|^2."))

(derivation lem:NLL_PL ; S = sum omega^2 D
  (real log-ratio) (nonnegative G S N D K) (positive mu p ratio p_- omega_- omega)
  (steps
    (step (>= (* (^ omega 2) D) (* p_- omega_- omega K))
      ("omega >= omega_-" (* omega D) (>= omega omega_-))
      ("p_- KL <= |p - pi|^2" (* omega omega_-) (>= D (* p_- K))))
    (step (>= (/ G 2) (* 1/2 mu p_- omega_- N))
      ("J J' >= mu I" 1/2 (>= G (* mu S)))
      ("states" (/ mu 2) (>= S (* p_- omega_- N))))
    (step (>= (* p (^ (- ratio 1) 2)) (* p (+ (- (* ratio log-ratio) ratio) 1)))
      ("log t <= t - 1" (* p ratio) (>= (- ratio 1) log-ratio)))
    (step (>= (/ D p_-) (/ D p)) ("p >= p_-" (/ D (* p p_-)) (>= p p_-))))
  (joined "S = sum omega^2 D, N the gap; the last steps are those of the entropy's bound."))

(derivation lem:auto_cancellation_control ; N = |grad NLL|^2; the first part is the inequality of abc
  (nonnegative T-part N C W L) (positive kappa gamma omega_- omega_+)
  (steps (step
    (>= T-part (+ (/ N (* 2 (+ 1 (^ kappa 2)))) (* 2 (^ gamma 2) (/ (^ omega_- 2) omega_+) L)))
    ("abc" 1 (>= T-part (+ (/ N (* 2 (+ 1 (^ kappa 2)))) (/ C 2))))
    ("coercivity" 1/2 (>= C (* 4 (^ gamma 2) W)))
    ("sum omega^2 Psi^2 >= ratio L_BE" (* 2 (^ gamma 2))
      (>= W (* (/ (^ omega_- 2) omega_+) L)))))
  (joined "N = |grad NLL|^2; the first assumption is eq:abc-inequality, the last step of lem:BE_PL."))

(derivation thm:bothPL ; S, N, L as in the lemmas
  (nonnegative G T-part S N L) (positive mu a_NLL a_BE c alpha p_- omega_- kappa)
  (steps
    (step (>= (/ G 2) (* c (+ N L)))
      ("J J' >= mu I" 1/2 (>= G (* mu T-part)))
      ("cancellation" (/ mu 2) (>= T-part (+ (* a_NLL S) (* a_BE L))))
      ("NLL is PL" (/ (* mu a_NLL) 2) (>= S (* 2 alpha N)))
      ("c <= mu a_NLL alpha_NLL" N (>= (* mu a_NLL alpha) c))
      ("c <= mu a_BE / 2" L (>= (/ (* mu a_BE) 2) c)))
    (step (= (* (/ (* p_- omega_-) 2) (/ 1 (* 2 (+ 1 (^ kappa 2)))))
             (/ (* p_- omega_-) (* 4 (+ 1 (^ kappa 2)))))))
  (joined "S, N, L: as in the lemmas; then alpha_NLL a_NLL."))

(derivation lem:zeta_empirical_pl ; D = (zeta - mean)^2 of a group, S = |grad|^2 in outputs
  (nonnegative beta G S N D) (positive mu omega_- omega)
  (steps
    (step (>= (* 2 (^ beta 4) (^ omega 2) D) (* 2 (^ beta 2) omega_- (^ beta 2) omega D))
      ("omega >= omega_-" (* 2 (^ beta 4) omega D) (>= omega omega_-)))
    (step (>= (/ G 2) (* 2 (^ beta 2) mu omega_- N))
      ("J J' >= mu I" 1/2 (>= G (* mu S)))
      ("groups" mu (>= (/ S 2) (* 2 (^ beta 2) omega_- N)))))
  (joined "D = (zeta - mean)^2 of a group, S = |grad|^2 in outputs."))

(derivation lem:finite_output_pl_transfer
  (nonnegative G S N) (positive mu alpha)
  (steps (step (>= (/ G 2) (* alpha mu N))
    ("J J' >= mu I" 1/2 (>= G (* mu S)))
    ("PL in outputs" mu (>= (/ S 2) (* alpha N)))))
  (joined "grad L = J' grad phi."))

(derivation lem:NNenjoysPL.output-transform ; D = |D v|^2, N = |v|^2
  (real x) (nonnegative Q-form D N) (positive lambda slope floor)
  (steps
    (step (>= (* (^ slope 2) (^ x 2)) (* (^ floor 2) (^ x 2)))
      ("|sigma'| >= rho" (* (^ x 2) (+ slope floor)) (>= slope floor)))
    (step (>= Q-form (* lambda (^ floor 2) N))
      ("K-tilde >= lambda I" 1 (>= Q-form (* lambda D)))
      ("entries" lambda (>= D (* (^ floor 2) N)))))
  (joined "D = |D v|^2, N = |v|^2."))

; --- the rest
(derivation fn:sum-of-PL ; y^2 and (y - x^2 + 1)^2, their sum at (0, -1/2) and at (1, 0)
  (real x y)
  (steps
    (step (>= (/ (dot (grad (fn (u) (^ (u 1) 2)) (list x y)) (grad (fn (u) (^ (u 1) 2)) (list x y))) 2)
      (* 2 (^ y 2))))
    (step (>= (let (slope (grad (fn (u) (^ (+ (- (u 1) (^ (u 0) 2)) 1) 2)) (list x y)))
        (/ (dot slope slope) 2))
      (* 2 (^ (+ (- y (^ x 2)) 1) 2)))
      (square 8 (square (* x (+ (- y (^ x 2)) 1)))))
    (step (= (let (slope (grad (fn (u) (+ (^ (u 1) 2) (^ (+ (- (u 1) (^ (u 0) 2)) 1) 2))) (list 0 -1/2)))
        (dot slope slope)) 0))
    (step (= (let (u (list 0 -1/2)) (+ (^ (u 1) 2) (^ (+ (- (u 1) (^ (u 0) 2)) 1) 2))) 1/2))
    (step (= (let (u (list 1 0)) (+ (^ (u 1) 2) (^ (+ (- (u 1) (^ (u 0) 2)) 1) 2))) 0)))
  (joined "PL each, with constant 2; stuck at 1/2 > 0."))

(derivation thm:distributional_q_bound.algebra
  (nonnegative a b c) ; the roots of the three parts
  (steps (step (>= (^ (+ a b c) 2) (+ (^ a 2) (^ b 2) (^ c 2)))
    (square (* 2 a b) (square 1)) (square (* 2 b c) (square 1)) (square (* 2 a c) (square 1))))
  (joined "a, b, c: the roots of the three parts."))

(derivation lem:sharingsol
  (real f g least_f least_g)
  (steps (step (>= least_f f)
    ("x minimises f + g" 1 (>= (+ least_f least_g) (+ f g)))
    ("g >= least_g" 1 (>= g least_g))))
  (joined "And the same for g."))
