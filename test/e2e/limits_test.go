package e2e

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// A machine that has too little is refused before anything is made, with what is short and what to set.
func TestMachineLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, limit string
		args        []string
		want        []string
	}{
		{"files", "ulimit -n 64", []string{"up", "single"}, []string{"open-files: a process may have 64 files open", "short", "ulimit -n 4096"}},
		{"memory", "ulimit -v 4194304", []string{"up", "single"}, []string{"address-space: a process may map 4Gi", "ulimit -v unlimited"}},
		{"both, of a scenario", "ulimit -n 64; ulimit -v 4194304", []string{"scenario", "run", "power-off"}, []string{"open-files: ", "address-space: "}},
		{"vCenters alone", "ulimit -n 16", []string{"vcenter", "up", "--vm", "1"}, []string{"open-files: a process may have 16 files open"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHome(t)
			c := h.Cmd(tc.args...)
			c.Path, c.Args = shell(t), append([]string{"sh", "-c", tc.limit + `; exec "$0" "$@"`}, c.Args...)
			r := program.Finish(t, c, h.Patience)
			if r.Code != 4 {
				t.Errorf("exit status %d, want 4", r.Code)
			}
			for _, want := range append(tc.want, "--ignore-preflight-errors=") {
				if !strings.Contains(r.Both(), want) {
					t.Errorf("lacks %q:\n%s", want, r.Both())
				}
			}
			if entries, err := os.ReadDir(h.State); err == nil && len(entries) > 0 {
				t.Errorf("made %v", entries)
			}
		})
	}
}

// A soft limit that is low is raised to the hard one.
func TestSoftLimitIsRaised(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.Cmd("up", "single", "--csi", "off", "--detach", "--ignore-preflight-errors=inotify,memory")
	c.Path, c.Args = shell(t), append([]string{"sh", "-c", `ulimit -Sn 64; exec "$0" "$@"`}, c.Args...)
	if r := program.Finish(t, c, h.Patience); r.Code != 0 {
		t.Errorf("exit status %d:\n%s", r.Code, r.Both())
	}
}

// Without a loopback interface nothing is tried.
func TestLoopbackIsDown(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a network namespace, in which loopback is down, takes root")
	}
	h := newHome(t)
	c := h.Cmd("up", "single")
	c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	r := program.Finish(t, c, h.Patience)
	for _, want := range []string{"loopback: 127.0.0.1 cannot be connected to", "ip link set lo up"} {
		if r.Code != 4 || !strings.Contains(r.Err, want) {
			t.Errorf("exit status %d, want 4 and %q:\n%s", r.Code, want, r.Both())
		}
	}
}

// The inotify limit of a user namespace, as of a rootless container, counts too.
func TestInotifyOfNamespace(t *testing.T) {
	t.Parallel()
	size := 1
	if os.Geteuid() == 0 {
		size = 1 << 16 // the home of a test is another user's then
	}
	inNamespace := func(c *exec.Cmd) {
		if c.SysProcAttr == nil {
			c.SysProcAttr = &syscall.SysProcAttr{}
		}
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.Credential = nil // only the namespace's own root may set its limits
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: size}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: size}}
	}
	probe := exec.CommandContext(t.Context(), shell(t), "-c", "echo 9 >/proc/sys/user/max_inotify_instances")
	if inNamespace(probe); probe.Run() != nil {
		t.Skip("no user namespace can be made here, or its limits cannot be set")
	}
	h := newHome(t)
	c := h.Cmd("up", "single")
	c.Path, c.Args = shell(t), append([]string{"sh", "-c", `echo 9 >/proc/sys/user/max_inotify_instances; exec "$0" "$@"`}, c.Args...)
	c.Env = append(c.Environ(), "VSPHERE_SANDBOX_STATE="+t.TempDir()) // of this user
	inNamespace(c)
	r := program.Finish(t, c, h.Patience)
	for _, want := range []string{"inotify: a user may have 9 inotify instances", "sudo sysctl user.max_inotify_instances="} {
		if r.Code != 4 || !strings.Contains(r.Both(), want) {
			t.Errorf("exit status %d, want 4 and %q:\n%s", r.Code, want, r.Both())
		}
	}
}

func shell(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
