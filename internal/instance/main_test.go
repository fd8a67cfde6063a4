package instance_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// roleEnv makes the test binary play a sandbox or a child of one instead of
// running the tests.
const roleEnv = "INSTANCE_TEST_ROLE"

func TestMain(m *testing.M) {
	role, arg, _ := strings.Cut(os.Getenv(roleEnv), " ")
	switch role {
	case "":
		os.Exit(m.Run())
	case "sandbox":
		playSandbox(arg)
	case "full-disk":
		playFullDisk(arg)
	case "child":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		block()
	case "leader": // starts a child in its process group and leaves
		if err := spawn("child", false, os.NewFile(3, "held")).Start(); err != nil {
			os.Exit(2)
		}
	}
}

func block() {
	for {
		time.Sleep(time.Hour)
	}
}

// spawn prepares a process that plays role, as the leader of a process group or
// as a member of that of this process. It gets held as descriptor 3.
func spawn(role string, leader bool, held *os.File, args ...string) *exec.Cmd {
	cmd := &exec.Cmd{Path: os.Args[0], Args: append([]string{os.Args[0]}, args...)}
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	if held != nil {
		cmd.ExtraFiles = []*os.File{held}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: leader}
	return cmd
}

// playSandbox creates the instance "demo" below root, starts three children
// known by their argument, their environment, and by a member of their group,
// says so on standard output, and waits to be killed.
func playSandbox(root string) {
	d, err := instance.Create(root, "demo")
	check(err)
	check(d.WriteRecord(instance.Record{Name: "demo", PID: os.Getpid(), Topology: "single"}))
	held := os.NewFile(3, "held")
	byArg := spawn("child", true, held, "--dir="+d.Path("etcd"))
	byEnv := spawn("child", true, held)
	byEnv.Env = append(byEnv.Env, "STATE="+d.Path())
	leader := spawn("leader", true, held, d.Path())
	leader.Env = append(leader.Env, "STATE="+d.Path())
	for name, cmd := range map[string]*exec.Cmd{"by-arg": byArg, "by-env": byEnv, "leader": leader} {
		check(cmd.Start())
		check(d.Journal().Started(name, cmd.Process.Pid))
	}
	check(leader.Wait())
	fmt.Println("up")
	block()
}

// playFullDisk tries everything that writes when nothing can be written.
func playFullDisk(root string) {
	d, err := instance.Create(root, "before")
	check(err)
	check(d.WriteRecord(instance.Record{Name: "before"}))
	signal.Ignore(unix.SIGXFSZ)
	var limit unix.Rlimit
	check(unix.Getrlimit(unix.RLIMIT_FSIZE, &limit))
	check(unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	_, err = instance.Create(root, "after")
	fmt.Println("create:", err)
	fmt.Println("record:", d.WriteRecord(instance.Record{Name: "changed"}))
	fmt.Println("journal:", d.Journal().Started("ccm", os.Getpid()))
	r, err := d.ReadRecord()
	fmt.Println("old record:", r.Name, err)
	fmt.Println("remove:", d.Remove())
	check(unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)) // coverage data is written at exit
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
}

// sandbox is a process that plays one; its children hold a pipe.
type sandbox struct {
	*exec.Cmd
	t    *testing.T
	held *os.File
}

func startSandbox(t *testing.T, root string) *sandbox {
	t.Helper()
	held, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=sandbox "+root)
	cmd.ExtraFiles = []*os.File{write}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	s := &sandbox{cmd, t, held}
	t.Cleanup(func() { held.Close() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("the sandbox says %q, %v", line, err)
	}
	return s
}

// kill is kill -9 of the sandbox alone.
func (s *sandbox) kill() {
	s.t.Helper()
	if err := s.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.Wait()
}

// requireGone waits for the end of all the sandbox's processes.
func (s *sandbox) requireGone() {
	s.t.Helper()
	if err := s.held.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, s.held); err != nil {
		s.t.Fatalf("a process has been left behind: %v", err)
	}
}

// requireEmpty fails when there is anything in dir.
func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("left behind: %s/%s", dir, entry.Name())
	}
}
