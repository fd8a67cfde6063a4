package node_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// roleEnv makes the test binary play a kubelet instead of running the tests.
const roleEnv = "NODE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "crash":
		os.Exit(1)
	case "run": // until killed; says that it does on descriptor 3
		fmt.Fprintln(os.NewFile(3, "report"), os.Getpid())
		for {
			time.Sleep(time.Hour)
		}
	}
}

// reports is a pipe whose writing end every kubelet holds: its end of file proves that all of them are gone.
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

// pid waits until a kubelet says which process it is.
func (r *reports) pid(t *testing.T) int {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("waiting for a report: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// requireGone fails when a kubelet is left after a while. No other can be started after it.
func (r *reports) requireGone(t *testing.T) {
	t.Helper()
	r.write.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatalf("a process has been left behind: %v", err)
	}
}
