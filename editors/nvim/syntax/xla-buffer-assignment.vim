" Some colour before the server answers, and where there is none. The server's semantic tokens lie over it.
if exists('b:current_syntax')
  finish
endif

syntax sync minlines=1

syntax match buflensHeading /^\S[^:={]*:\ze\s*$/
syntax match buflensHeading /^\(Total bytes used\|Used values\|HloLiveRange\|Memory Space\|HloModule\|allocation \d\+\|ENTRY\)\>/
syntax match buflensHeading /^ \+\(InstructionSequence\|BufferLiveRange\|Live ranges at\)\>.*/
syntax match buflensKeyword /^ \+\(value\|positions\|uses\|from instruction\):/
syntax keyword buflensKeyword size offset color parameter constant ROOT
syntax match buflensKeyword /\<\(maybe-live-out\|thread-local\|preallocated-temp\)/
syntax match buflensName /%[A-Za-z_][A-Za-z0-9_.-]*/
syntax match buflensId /<\d\+ [^ >]\+/
syntax match buflensShape /\<\(pred\|token\|opaque\|[subfc]\+\d\w*\)\[[0-9,<=?]*\]\({[^} ]*}\)\?/
syntax match buflensNumber /\<\d\+\(\.\d\+\)\?\([KMGTP]iB\|%\)\?/
syntax region buflensString start=/"/ skip=/\\"/ end=/"/ oneline
syntax match buflensComment +/\*index=\d\+\*/+

highlight default link buflensHeading Title
highlight default link buflensKeyword Keyword
highlight default link buflensName Identifier
highlight default link buflensId Identifier
highlight default link buflensShape Type
highlight default link buflensNumber Number
highlight default link buflensString String
highlight default link buflensComment Comment

let b:current_syntax = 'xla-buffer-assignment'
