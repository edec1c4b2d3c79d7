; What the verifier decides of relations, and which expressions have no value: x is any real number,
; c any positive one.

; --- constants
(true (= (log 8) (* 3 (log 2))))
(true (= (exp (- (log 3))) 1/3))
(false (= (exp (/ (log 2) 2)) 1.41421356))
(true (= (+ (/ 1 (+ 1 (exp 1))) (/ (exp 1) (+ 1 (exp 1)))) 1))
(true (= (exp (* 2 (log (+ 1 (exp 1))))) (+ 1 (* 2 (exp 1)) (exp 2))))
(true (< (log 2) 0.6932))
(false (< 0.6932 (log 2)))
(true (<= 1 1))
(false (< 1 1))
(true (>= (exp -1000) 0))

; --- variables
(true (> c 0))
(true (> (+ 1 (^ x 2)) 0))
(true (>= (^ x 2) 0))
(undecided (> (^ x 2) 0))
(false (< (^ x 2) 0))
(true (<= (- c) 0))
(true (< (/ c (+ 1 c)) 1))
(undecided (< c 1))
(undecided (= c 1))
(true (= (- c c) 0))
(true (<= (* c (- (log 2) 1)) 0))
(true (> (exp (- x)) 0))
(undecided (> x 0))
(undecided (and (< c 1) (> c 0)))
(false (and (< c 1) (< c 0)))
(true (implies (< c 0) (= 0 1)))
(true (= (log (exp c)) c))

; --- no value
(refused (log 0))
(refused (log -1))
(refused (log (- (exp 1) 3)))
(refused (log x))
(refused (/ 1 0))
(refused (/ 1 x))
(refused (/ 1 (- c 1)))
(refused (abs x))
(refused (larger x c))
(refused (if (< c 1) 0 1))
(refused (implies (< c 1) (= 0 0)))
(refused (rank (list (list x))))
(refused ((list 1 2) 2))
(refused ((list 1 2) -1))
(refused ((list 1 2) 1/2))
(refused (^ 2 1/2))

; --- a name of the language with another meaning
(refused (let (if 3) if))
(refused ((fn (sum) sum) 3))
(refused (vec larger 3 larger))
(refused ((fn (>) 1) 2))

; --- a condition or an index that depends on the point, under a derivative: the function is 5 u where
; it is true, and 0 elsewhere
(refused (grad (fn (u) (if (= (/ 1 (+ 1 (u 0))) (- 1 (u 0))) (* 5 (u 0)) 0)) (list 0)))
(refused (grad (fn (u) (if (= (exp (u 0)) (+ 1 (u 0))) (* 5 (u 0)) 0)) (list 0)))
(refused (grad (fn (u) (if (= (log (+ 1 (u 0))) (u 0)) (* 5 (u 0)) 0)) (list 0)))
(refused (grad (fn (u) (if (>= (exp (u 0)) (+ 1 (u 0))) (* 5 (u 0)) 0)) (list 0)))
(refused (grad (fn (u) (if (> (u 0) -1) (* 5 (u 0)) 0)) (list 0)))
(refused (grad (fn (u) (if (= (u 0) 0) (* 5 (u 0)) 0)) (list 0)))
(refused (grad (fn (u) ((list (* 5 (u 0)) 0) (- (exp (u 0)) (+ 1 (u 0))))) (list 0)))
(true (= ((grad (fn (u) (if (= (exp (u 0)) (exp (u 0))) (* 5 (u 0)) 0)) (list 0)) 0) 5))
(true (= ((grad (fn (u) (if (>= (^ (u 0) 2) 0) (* 5 (u 0)) 0)) (list 0)) 0) 5))

; the same under the derivatives of another point: each inner derivative by w is u, u or -u up to the
; second power of u, so that the function is 0 but at one point
(refused (grad (fn (u) (if (= ((grad (fn (w) (exp (* (u 0) (w 0)))) (list 1)) 0) (u 0)) (* 5 (u 0)) 0)) (list 0)))
(refused (grad (fn (u) (if (= ((grad (fn (w) (log (+ 1 (* (u 0) (w 0))))) (list 1)) 0) (u 0)) (* 5 (u 0)) 0)) (list 0)))
(refused (grad (fn (u) (if (= ((grad (fn (w) (/ 1 (+ 1 (* (u 0) (w 0))))) (list 1)) 0) (- (u 0))) (* 5 (u 0)) 0)) (list 0)))
(refused (grad (fn (u) (if (= ((hess (fn (w) (exp (* (u 0) (w 0)))) (list 1)) 0 0) 0) (* 5 (u 0)) 0)) (list 0)))
(true (= ((grad (fn (u) (if (= ((grad (fn (w) (* (u 0) (w 0))) (list 1)) 0) (u 0)) (* 5 (u 0)) 0)) (list 0)) 0) 5))
(true (= ((grad (fn (u) ((hess (fn (w) (exp (* (u 0) (w 0)))) (list 1)) 0 0)) (list 2)) 0) (* 8 (exp 2))))

; --- what would take for ever
(refused (^ 2 1000000000))
(refused (exp (* 1000000000 (log 2))))
(refused (^ (^ (^ 2 1000) 1000) 1000))
(refused (log (* 1000000000000000000000007 1000000000000000000000049)))
(refused (sum i 1000000000 0))
(refused (^ (+ 1 (exp 1) (exp 1/2) (exp 1/3) (exp 1/5) (exp 1/7) (exp 1/11)) 1000))
