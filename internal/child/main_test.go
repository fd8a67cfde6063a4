package child_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// roleEnv makes the test binary play a child (or the parent of one) instead of
// running the tests. Children report on descriptor 3 where they have one.
const roleEnv = "CHILD_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		play(role)
		os.Exit(0)
	}
	code := m.Run()
	if left := goroutinesLeft(); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// goroutinesLeft returns the stacks of the goroutines of the package under test
// that do not end, though every child has been stopped.
func goroutinesLeft() string {
	const patience = 30 * time.Second
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !strings.Contains(string(stacks), "internal/child.(") {
			return ""
		}
		if time.Since(begin) > patience {
			return string(stacks)
		}
	}
}

func play(role string) {
	report := os.NewFile(3, "report")
	verb, arg, _ := strings.Cut(role, " ")
	switch verb {
	case "exit":
		code, _ := strconv.Atoi(arg)
		fmt.Println("about to exit with", code)
		os.Exit(code)
	case "print":
		n, _ := strconv.Atoi(arg)
		for i := range n {
			fmt.Printf("line %d\n", i+1)
		}
		os.Exit(1)
	case "serve": // until TERM
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Fprintln(report, os.Getpid())
		<-term
	case "ignore-term":
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(report, os.Getpid())
		block()
	case "fork": // has a child in the same process group, which never ends
		grandchild := exec.Command(os.Args[0])
		grandchild.Env = append(os.Environ(), roleEnv+"=ignore-term")
		grandchild.ExtraFiles = []*os.File{report}
		if err := grandchild.Start(); err != nil {
			os.Exit(2)
		}
		if arg == "exit" {
			os.Exit(1)
		}
		block()
	case "lifeline":
		forgetParent()
		if err := child.Lifeline(os.Exit); err != nil {
			fmt.Fprintln(report, err)
			os.Exit(2)
		}
		if _, ok := os.LookupEnv(child.LifelineEnv); ok {
			os.Exit(2)
		}
		fmt.Fprintln(report, os.Getpid())
		block()
	case "removed": // its file, before it starts a child
		if err := os.Remove(os.Args[0]); err != nil {
			os.Exit(2)
		}
		startGrandchild(arg, report)
		block()
	case "parent": // supervises a child that plays arg, and hands it its own report pipe
		c := startGrandchild(arg, report)
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent requests a suspend
		_ = c.Suspend()
		fmt.Println("suspended")
		block()
	}
}

func startGrandchild(role string, report *os.File) *child.Child {
	return child.Start(child.Spec{
		Name:  "grandchild",
		Env:   append(os.Environ(), roleEnv+"="+role),
		Files: []*os.File{report},
	}, nil)
}

// block waits for a signal to end the process.
func block() {
	for {
		time.Sleep(time.Hour)
	}
}

// reports is a pipe whose writing end is given to children. Its end of file
// proves that every process that ever held the writing end is gone.
type reports struct {
	*bufio.Reader
	write *os.File
}

func newReports(t *testing.T) *reports {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	if err := r.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &reports{bufio.NewReader(r), w}
}

func (r *reports) line(t *testing.T) string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("waiting for a report: %v", err)
	}
	return strings.TrimSpace(line)
}

// requireGone fails when a process still holds the writing end after a while.
func (r *reports) requireGone(t *testing.T) {
	t.Helper()
	r.write.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatalf("a process has been left behind: %v", err)
	}
}
