package release

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// jail is a root file system with only the archive, unpacked by an unprivileged user into its home.
type jail struct {
	t    *testing.T
	in   *json.Encoder
	out  *json.Decoder
	said *strings.Builder
}

// newJail makes one, which ends with the test.
func newJail(t *testing.T) *jail {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a file system and a network of its own")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(archive)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp("", "jail-") // t.TempDir() is below a folder that other users cannot enter
	if err == nil {
		err = os.Chmod(root, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	j := &jail{t: t, said: &strings.Builder{}}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asWarden+"="+root, "RELEASE_TEST_ARCHIVE="+path)
	cmd.Stderr = j.said
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("this machine makes no namespaces: %v", err)
	}
	j.in, j.out = json.NewEncoder(in), json.NewDecoder(out)
	t.Cleanup(func() {
		_ = in.Close() // with which it ends, and all in the jail with it
		if err := cmd.Wait(); err != nil {
			t.Errorf("the jail: %v: %s", err, j.said)
		}
		if err := os.Remove(root); err != nil { // which was mounted over only for those in the jail
			t.Error(err)
		}
	})
	return j
}

func (j *jail) do(o order) outcome {
	j.t.Helper()
	var result outcome
	if err := j.in.Encode(o); err != nil {
		j.t.Fatalf("%v: %s", err, j.said)
	}
	if err := j.out.Decode(&result); err != nil {
		if err == io.EOF {
			j.t.Fatalf("the jail has ended: %s", j.said)
		}
		j.t.Fatal(err)
	}
	if result.Failed != "" {
		j.t.Fatalf("%+v: %s", o, result.Failed)
	}
	return result
}

// run runs the program with the environment given and nothing else.
func (j *jail) run(env []string, args ...string) outcome {
	j.t.Helper()
	return j.do(order{Args: append([]string{program}, args...), Env: env})
}

// fine runs it, has it succeed, and returns what it has printed.
func (j *jail) fine(env []string, args ...string) string {
	j.t.Helper()
	r := j.run(env, args...)
	if r.Exit != 0 {
		j.t.Fatalf("vsphere-sandbox %s: exit status %d\n%s%s", strings.Join(args, " "), r.Exit, r.Out, r.Err)
	}
	return r.Out
}
