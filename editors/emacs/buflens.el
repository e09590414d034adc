;;; buflens.el --- XLA buffer-assignment dumps  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "28.1") (eglot "1.9"))
;; Keywords: tools, languages
;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Recognises the text dumps in which the XLA compiler says where every tensor lives in memory, by
;; their names and by their first lines, and starts the language server `buflens' for them with
;; Eglot (part of Emacs since 29):
;;
;;     (load "/path/to/buflens/editors/emacs/buflens.el")

;;; Code:

(defgroup buflens nil
  "XLA buffer-assignment dumps."
  :group 'tools)

(defcustom buflens-command '("buflens" "lsp")
  "The command that starts the language server."
  :type '(repeat string))

(defcustom buflens-settings nil
  "Settings of the language server, as a property list.
docs/lsp.md of Buflens lists them.  For example (:severity (:value-size \"off\"))."
  :type 'plist)

(defcustom buflens-start-server t
  "Whether the language server is started when a dump is opened."
  :type 'boolean)

;; Every pattern starts at the beginning of a line: lines of dumps can be hundreds of KiB long.
(defvar buflens-font-lock-keywords
  '(("^\\(?:BufferAssignment\\|Used values\\|HloLiveRange\\|Total bytes\\|Memory Space\\|HloModule\\|ENTRY\\).*?[:,{]"
     . font-lock-function-name-face)
    ("^ +\\(?:InstructionSequence\\|BufferLiveRange\\|Live ranges at\\).*" . font-lock-function-name-face)
    ("^\\(allocation [0-9]+\\): size \\([0-9]+\\)" (1 font-lock-keyword-face) (2 font-lock-constant-face))
    ("^ \\(value\\|positions\\|uses\\|from instruction\\):" 1 font-lock-keyword-face)
    ("^\\(?: value: \\)?<[0-9]+ \\([^ >]+\\)" 1 font-lock-variable-name-face)
    ("^ +\\(?:[0-9]+:\\)?\\([A-Za-z_][A-Za-z0-9_.-]*\\)\\(?:{[0-9,]*}:\\|$\\)" 1 font-lock-variable-name-face)
    ("^ *\\(?:from instruction: ?\\|ROOT \\)?\\(%[A-Za-z0-9_.-]+\\) = " 1 font-lock-variable-name-face))
  "Some colours.")

(defvar buflens-mode-syntax-table
  (let ((table (make-syntax-table)))
    (dolist (char '(?. ?- ?_))
      (modify-syntax-entry char "_" table))
    (modify-syntax-entry ?% "'" table)
    ;; The quotes of embedded texts need not come in pairs.
    (modify-syntax-entry ?\" "." table)
    table)
  "In dumps `copy-start.1' is one symbol.")

(defvar buflens--told nil
  "Whether it was told that the server is missing.")

(declare-function eglot-ensure "eglot")

(defun buflens--start ()
  "Start the server, or say once what is missing."
  (cond ((not (and buflens-start-server buffer-file-name)))
        ((not (require 'eglot nil t))
         (message "Buflens: Eglot is not installed; it is part of Emacs since version 29"))
        ((executable-find (car buflens-command)) (eglot-ensure))
        ((not buflens--told)
         (setq buflens--told t)
         (message "Buflens: no program `%s' was found in `exec-path'; install it with `cargo install --path server' \
in a clone of Buflens, or set `buflens-command'" (car buflens-command)))))

(define-derived-mode buflens-mode prog-mode "XLA dump"
  "Major mode for text dumps of the XLA compiler; the parent of one mode for each kind."
  (setq-local font-lock-defaults '(buflens-font-lock-keywords t)
              truncate-lines t
              ;; Long lines are slow to show where text may run from right to left.
              bidi-paragraph-direction 'left-to-right
              bidi-inhibit-bpa t))

(define-derived-mode buflens-assignment-mode buflens-mode "XLA buffers"
  "Major mode for allocations, values and live ranges."
  (buflens--start))

(define-derived-mode buflens-report-mode buflens-mode "XLA memory"
  "Major mode for memory-usage reports."
  (buflens--start))

(define-derived-mode buflens-hlo-mode buflens-mode "HLO"
  "Major mode for the text of HLO modules."
  (buflens--start))

;; By name, as compilers name them.
(dolist (entry '(("-\\(?:buffer-assignment\\(?:-values\\)?\\|live-range\\)\\.txt\\'" . buflens-assignment-mode)
                 ("-memory-usage-report\\.txt\\'" . buflens-report-mode)
                 ("module_[0-9]\\{4,\\}\\..*optimizations[A-Za-z0-9_]*\\.txt\\'" . buflens-hlo-mode)))
  (add-to-list 'auto-mode-alist entry))

;; By the first lines, for files that were renamed.
(let ((before "\\(?:[ \t]*\n\\|\\*\\*\\* Begin .*\n\\|Total bytes used: [0-9]+ (.*\n\\)\\{0,8\\}"))
  (dolist (entry '(("\\(?:BufferAssignment:\n\\|Used values:\\|HloLiveRange \\(?:(max\\|not available\\)\\)"
                    . buflens-assignment-mode)
                   ("\\(?:Memory Space: .*(color=\\|Allocations sorted by size\\)" . buflens-report-mode)
                   ("HloModule [^ ,\n]+\\(?:,\\|$\\)" . buflens-hlo-mode)))
    (add-to-list 'magic-mode-alist (cons (concat before (car entry)) (cdr entry)))))

;; By what a failure for want of memory says, in texts and logs, whatever a log puts before it. Without
;; `(rounded to' what an allocator says may be a warning, of a request that the program can do without.
(defconst buflens--failure
  (concat "Ran out of memory in memory space "
          "\\|Ran out of memory on [^ \n]+, the total memory required "
          "\\|Allocation (size=.* would exceed memory "
          "\\|Out of memory \\(?:while trying to allocate\\|allocating\\) [0-9]"
          "\\|Attempting to \\(?:allocate\\|reserve\\) .*\\. That was not possible"
          "\\|Failed to allocate request for [0-9]"
          "\\|Aborting compilation early because it's unlikely to have enough device memory\\. Requires "
          "\\|Allocator (.* ran out of memory trying to allocate [^ \n]+ (rounded to "
          "\\|Can't reduce memory use below .* by rematerialization"
          "\\|Largest program allocations in "
          "\\|BufferAssignment OOM Debugging")
  "What the text of a failure for want of memory holds.")
(defun buflens--failure-p ()
  "Whether the buffer is of a text or a log that begins with such a failure."
  (and buffer-file-name
       (string-match-p "\\.\\(?:txt\\|log\\)\\'" buffer-file-name)
       (save-excursion
         (save-restriction
           (widen)
           (goto-char (point-min))
           (let ((case-fold-search nil))
             (re-search-forward buflens--failure (line-beginning-position 81) t))))))
(add-to-list 'magic-mode-alist '(buflens--failure-p . buflens-report-mode))

(defun buflens--contact (&rest _)
  "The server's command and settings, as Eglot wants them."
  (if buflens-settings
      (append buflens-command (list :initializationOptions buflens-settings))
    buflens-command))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               '(((buflens-assignment-mode :language-id "xla-buffer-assignment")
                  (buflens-report-mode :language-id "xla-memory-report")
                  (buflens-hlo-mode :language-id "hlo"))
                 . buflens--contact)))

(provide 'buflens)
;;; buflens.el ends here
