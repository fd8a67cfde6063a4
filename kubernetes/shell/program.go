package shell

import (
	"context"
	"io"
	"path"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Program is a command line to interpret. Args and Files are mandatory. A Program runs once.
type Program struct {
	Args []string
	// Env has entries KEY=VALUE.
	Env []string
	// Files are what it sees; Dir is the folder that it starts in, "/" if empty.
	Files *FS
	Dir   string
	// Hostname, UID and GID are what hostname and id print.
	Hostname string
	UID, GID int64
	// Stdin may be nil; Stdout and Stderr must not be.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal is set for a program that runs on one: Stdin and Stdout are the terminal's.
	Terminal *Terminal
	// Terminate is closed for SIGTERM, which ends a program at once unless it has a trap.
	Terminate <-chan struct{}
	// Kill receives signals for process 1, which is the container's.
	Kill func(signal int)
	// StandIn takes the place of a program that is not here, where a shell would be replaced by it: exec PROGRAM, or the last command
	// of a script. It returns the exit code. Nil: such a program is not found, as anywhere else.
	StandIn func(ctx context.Context, args []string) int

	guard    *guard
	terminal *termSession

	mu      sync.Mutex
	unknown bool
	trap    *string // what trap has set for SIGTERM
	stood   bool    // StandIn has taken its place, and SIGTERM is for it
}

// Result is how a program ended.
type Result struct {
	// Code is the exit code.
	Code int
	// Unknown reports that it called a program that is not here.
	Unknown bool
	// Terminated reports that SIGTERM ended it, and Memory that it took too much memory.
	Terminated, Memory bool
}

// Exit codes of a shell.
const (
	exitUsage    = 2
	exitNotFound = 127
	exitSignaled = 128
	sigterm      = 15
	sigkill      = 9
)

// IsShell reports whether a command is a shell.
func IsShell(name string) bool {
	base, ok := program(name)
	return ok && shellName(base)
}

func shellName(base string) bool {
	switch base {
	case "sh", "bash", "ash", "dash":
		return true
	}
	return false
}

// program returns the name of a command that is given alone or by its usual path.
func program(name string) (base string, ok bool) {
	dir, base := path.Split(name)
	switch path.Clean("/" + dir) {
	case "/":
		return base, dir == ""
	case "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin":
		return base, true
	}
	return base, false
}

// Interprets reports whether the command is a shell, a tool of this package, or a shell script of the files.
func (p *Program) Interprets() bool {
	args := unwrap(p.Args)
	if len(args) == 0 {
		return false
	}
	return IsShell(args[0]) || findTool(args[0]) != nil || isBuiltin(args[0]) || p.isScript(p.dir(), args[0])
}

// unwrap returns the command that busybox, tini and other wrappers would execute.
func unwrap(args []string) []string {
	for len(args) > 1 {
		switch path.Base(args[0]) {
		case "busybox", "toybox":
			args = args[1:]
		case "tini", "dumb-init":
			rest := args[1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
				rest = rest[1:]
			}
			if len(rest) == 0 {
				return args
			}
			args = rest
		default:
			return args
		}
	}
	return args
}

func (p *Program) dir() string {
	if p.Dir == "" {
		return "/"
	}
	return path.Clean("/" + p.Dir)
}

// isScript reports whether a file begins as a shell script does.
func (p *Program) isScript(dir, name string) bool {
	if !strings.Contains(name, "/") {
		return false
	}
	f, err := p.Files.Open(dir, name, 0, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [64]byte
	n, _ := io.ReadFull(f, head[:])
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	interpreter, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return false
	}
	words := strings.Fields(interpreter)
	if len(words) > 1 && path.Base(words[0]) == "env" {
		words = words[1:]
	}
	return len(words) > 0 && shellName(path.Base(words[0]))
}

// Run interprets the program until it ends, or ctx does.
func (p *Program) Run(ctx context.Context) Result {
	g, end := newGuard(ctx)
	defer end()
	p.guard = g
	if p.Terminal != nil {
		p.terminal = newTermSession(p)
		p.Stdout, p.Stderr = p.terminal, p.terminal
	}
	run, cancel := context.WithCancel(g)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	terminated := false
	var mu sync.Mutex
	if p.Terminate != nil {
		go func() {
			select {
			case <-p.Terminate:
				if trap, stood := p.signaled(); stood || trap != nil && *trap == "" {
					return // it ignores the signal
				}
				mu.Lock()
				terminated = true
				mu.Unlock()
				cancel()
			case <-ended:
			}
		}()
	}
	s := &session{p: p, top: true}
	code := s.command(&guarded{run, g}, unwrap(p.Args))
	mu.Lock()
	signaled := terminated
	mu.Unlock()
	r := Result{Code: code, Unknown: p.called(), Memory: g.memory.Load()}
	if g.Err() != nil && r.Code == 0 {
		r.Code = exitSignaled + sigkill // such as wait, which reports no error
	}
	if signaled && !r.Memory {
		if trap, _ := p.signaled(); trap != nil {
			r.Code = s.runTrap(&guarded{g, g}, *trap)
		} else {
			r.Terminated, r.Code = true, exitSignaled+sigterm
		}
	}
	return r
}

// signaled returns what SIGTERM does.
func (p *Program) signaled() (trap *string, stood bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trap, p.stood
}

func (p *Program) called() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unknown
}

// quoted returns words as shell text.
func quoted(words []string) (string, error) {
	var b strings.Builder
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(q)
	}
	return b.String(), nil
}
