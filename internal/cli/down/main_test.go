package down

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/instances"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// roleEnv makes the test binary play a sandbox, or a child of one, instead of running the tests.
const roleEnv = "DOWN_TEST_ROLE"

// runtimeEnv is the container runtime of a sandbox that leaves containers.
const runtimeEnv = "DOWN_TEST_RUNTIME"

func TestMain(m *testing.M) {
	role := strings.Fields(os.Getenv(roleEnv))
	switch {
	case len(role) == 0:
		os.Exit(m.Run())
	case role[0] == "child":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	default:
		playSandbox(role[0], role[1], role[2])
	}
}

// playSandbox is a sandbox that owns its directory and has a child. It says "up", and "asked" when it is asked to end,
// on standard output.
func playSandbox(role, root, name string) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	dir, err := instance.Create(root, name)
	check(err)
	check(dir.WriteRecord(instance.Record{Name: name, PID: os.Getpid(), Topology: "single"}))
	child := &exec.Cmd{Path: os.Args[0], Args: []string{os.Args[0], dir.Path()}, Env: append(os.Environ(), roleEnv+"=child")}
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check(child.Start())
	check(dir.Journal().Started("child", child.Process.Pid))
	asked := make(chan struct{}, 10)
	if role != "deaf" {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"message":"stopping"}`)
			asked <- struct{}{}
		})
		l, err := net.Listen("unix", dir.SocketPath())
		check(err)
		go func() { _ = http.Serve(l, mux) }()
	}
	fmt.Println("up")
	switch role {
	case "obedient", "leaving":
		<-asked
	case "deaf": // has no socket
		<-term
	case "stubborn":
		<-asked
		fmt.Println("asked")
		time.Sleep(time.Hour)
	case "crashing":
		os.Exit(1)
	}
	check(child.Process.Kill())
	_ = child.Wait()
	if role == "leaving" { // it could not remove its containers
		check(os.WriteFile(dir.Path("kind.json"), []byte(fmt.Sprintf("{\"runtime\": %q}\n", os.Getenv(runtimeEnv))), 0o600))
		check(dir.Close())
		os.Exit(1)
	}
	check(dir.Remove())
	os.Exit(0)
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
}

// rig is a state directory with sandboxes that this test binary plays.
type rig struct {
	*clitest.Env
	t    *testing.T
	root string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Env: clitest.NewEnv(nil), t: t, root: t.TempDir()}
	r.Deps.Sandboxes = instances.Instances{RootFunc: func() (string, error) { return r.root, nil }}
	t.Cleanup(func() {
		reports, err := instance.ReapAll(t.Context(), r.root) // what a failed test left
		if err != nil && t.Context().Err() == nil || len(reports) > 0 {
			t.Errorf("left behind: %+v, %v", reports, err)
		}
	})
	return r
}

// play starts a sandbox and waits until it is up, or has crashed.
func (r *rig) play(role, name string) (said *bufio.Scanner) {
	r.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role+" "+r.root+" "+name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	said = bufio.NewScanner(out)
	if !said.Scan() || said.Text() != "up" {
		r.t.Fatalf("the sandbox said %q", said.Text())
	}
	if role == "crashing" {
		_ = cmd.Wait()
		return said
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return said
}

// requireEmpty fails when something is left in the state directory.
func (r *rig) requireEmpty() {
	r.t.Helper()
	left, err := os.ReadDir(r.root)
	if err != nil || len(left) > 0 {
		r.t.Errorf("left: %v, %v", left, err)
	}
}
