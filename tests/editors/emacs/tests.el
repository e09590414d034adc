;;; tests.el --- tests of buflens.el in batch mode  -*- lexical-binding: t -*-

(require 'ert)
(require 'package)
(package-initialize)
(require 'eglot)
(load (expand-file-name "editors/emacs/buflens.el" (getenv "BUFLENS_ROOT")))

(setq buflens-command (list (getenv "BUFLENS_BINARY") "lsp")
      eglot-sync-connect 30)

(defun tests-wait (test)
  "Wait until the function TEST gives something, and give that."
  (let ((end (+ (float-time) 20)) result)
    (while (and (not (setq result (funcall test))) (< (float-time) end))
      (accept-process-output nil 0.02))
    (should result)
    result))

(defun tests-open (pattern)
  "Visit the file of the dumps that matches PATTERN, and connect to the server."
  (find-file (car (file-expand-wildcards (expand-file-name pattern (getenv "BUFLENS_DUMPS")) t)))
  ;; `eglot-ensure' waits for a command to end, and there is none in batch mode.
  (unless (eglot-current-server)
    (apply #'eglot (eglot--guess-contact)))
  (tests-wait #'eglot-current-server))

(defun tests-go (line text)
  "Put point on TEXT in the first line that matches LINE."
  (goto-char (point-min))
  (re-search-forward line)
  (beginning-of-line)
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun tests-hover ()
  "What is shown about the text at point."
  (let (shown)
    (tests-wait (lambda ()
                  (eglot-hover-eldoc-function (lambda (text &rest _) (setq shown text)))
                  (accept-process-output nil 0.1)
                  shown))))

(defun tests-definition ()
  (xref-find-definitions (xref-backend-identifier-at-point (xref-find-backend)))
  (buffer-substring-no-properties (line-beginning-position) (line-end-position)))

(defun tests-mode (name first)
  "The major mode of a file called NAME whose first lines are FIRST."
  (let ((buflens-start-server nil))
    (with-temp-buffer
      (insert first)
      (setq buffer-file-name (expand-file-name name))
      (set-auto-mode)
      (set-buffer-modified-p nil)
      (prog1 major-mode (setq buffer-file-name nil)))))

(ert-deftest modes-by-name ()
  (pcase-dolist (`(,suffix . ,mode) '(("-buffer-assignment" . buflens-assignment-mode)
                                      ("-buffer-assignment-values" . buflens-assignment-mode)
                                      ("-live-range" . buflens-assignment-mode)
                                      ("-memory-usage-report" . buflens-report-mode)
                                      ("" . buflens-hlo-mode)
                                      ("_before_buffer_assignment" . buflens-hlo-mode)))
    (should (eq mode (tests-mode (concat "module_0001.f.after_optimizations" suffix ".txt") "")))))

(ert-deftest modes-by-first-lines ()
  (pcase-dolist (`(,first . ,mode) '(("BufferAssignment:\nallocation 0:" . buflens-assignment-mode)
                                     ("\nTotal bytes used: 256 (256B)\n\nUsed values:\n" . buflens-assignment-mode)
                                     ("HloLiveRange (max 4):\n" . buflens-assignment-mode)
                                     ("Memory Space: HBM (color=0)\n" . buflens-report-mode)
                                     ("Total bytes used: 1 (1B)\n\nAllocations sorted by size:\n" . buflens-report-mode)
                                     ("HloModule jit_f, is_scheduled=true\n" . buflens-hlo-mode)
                                     ("It ran out of memory on Monday.\n" . text-mode)
                                     ("milk\neggs\n" . text-mode)
                                     ("They begin so:\nBufferAssignment:\n" . text-mode)))
    (should (eq mode (tests-mode "notes.txt" first))))
  (should (eq 'buflens-assignment-mode (tests-mode "dump.log" "BufferAssignment:\n"))))

(ert-deftest modes-of-failures ()
  (let ((lines (with-temp-buffer
                 (insert-file-contents (expand-file-name "tests/fixtures/failures.txt" (getenv "BUFLENS_ROOT")))
                 (split-string (buffer-string) "\n" t))))
    (should (> (length lines) 10))
    (dolist (line lines)
      (should (eq 'buflens-report-mode (tests-mode "notes.txt" (concat "step 1\n" line "\n"))))))
  (dolist (line '("Attempting to allocate 4 workers"
                  "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3GiB. The caller indicates that this is not a failure"))
    (should (eq 'text-mode (tests-mode "notes.txt" line)))))

(ert-deftest colours-and-words ()
  (let ((buflens-start-server nil))
    (with-temp-buffer
      (insert "allocation 2: size 128, preallocated-temp:\n value: <2 mul.2 @0> (size=64,offset=0): f32[16]{0}\n")
      (buflens-assignment-mode)
      (font-lock-ensure)
      (should truncate-lines)
      (should (eq (get-text-property 1 'face) 'font-lock-keyword-face))
      (tests-go "value" "mul")
      (should (eq (get-text-property (point) 'face) 'font-lock-variable-name-face))
      (should (equal (thing-at-point 'symbol t) "mul.2")))))

(ert-deftest hover-and-definition ()
  (tests-open "module_0001.smallest.*")
  (tests-go "^ value: <2" "mul.2")
  (should (string-match-p "f32\\[16\\]{0}" (tests-hover)))
  (should (equal (tests-definition) "<2 mul.2 @0>"))
  (should (assoc "Used values" (mapcar (lambda (entry) (cons (replace-regexp-in-string ":.*" "" (car entry)) entry))
                                       (tests-flat (funcall imenu-create-index-function))))))

(defun tests-flat (index)
  "The entries of an imenu INDEX and of the indices in it."
  (apply #'append (mapcar (lambda (entry)
                            (cons entry (and (consp (cdr entry)) (listp (cadr entry)) (tests-flat (cdr entry)))))
                          index)))

(ert-deftest definition-in-a-sibling ()
  (tests-open "module_0017.*-buffer-assignment.txt")
  (tests-go "copy-start.2{0}" "copy-start.2")
  (should (equal (tests-definition) "<20 copy-start.2{0} @1>"))
  (should (string-suffix-p "-buffer-assignment-values.txt" buffer-file-name))
  (should (eq major-mode 'buflens-assignment-mode)))

(ert-deftest findings ()
  (tests-open "planted-error.txt")
  (tests-wait (lambda ()
                (flymake-start)
                (seq-some (lambda (finding) (string-match-p "shares bytes" (flymake-diagnostic-text finding)))
                          (flymake-diagnostics)))))

(ert-deftest no-server ()
  (let ((buflens-command '("no-such-program" "lsp")) buflens--told told)
    (cl-letf (((symbol-function 'message) (lambda (text &rest rest) (push (apply #'format text rest) told))))
      (dotimes (_ 2)
        (with-temp-buffer
          (setq buffer-file-name (expand-file-name "a.txt"))
          (buflens-assignment-mode)
          (setq buffer-file-name nil))))
    (should (= 1 (length told)))
    (should (string-match-p "`no-such-program'" (car told)))))

;;; tests.el ends here
