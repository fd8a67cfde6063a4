package guest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/disks"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/loop"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// imageEnv names the node image that real containers are made of; without it those tests are skipped.
const imageEnv = "VSPHERE_SANDBOX_TEST_NODE_IMAGE"

// ground are real containers of the node image, in which no Kubernetes is set up, and volumes.
type ground struct {
	t         *testing.T
	rt        *runtime.Runtime
	dir       string
	watch     *guest.Watch
	fakeDisks *disks.Loops
}

// realGround makes two containers, a and b, that boot as nodes do, or sleep only.
func realGround(t *testing.T, boots bool) *ground {
	t.Helper()
	image := os.Getenv(imageEnv)
	if image == "" {
		t.Skipf("%s names no node image (hack/kind-node/build makes one)", imageEnv)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{t: t, rt: runtime.New("docker"), dir: dir}
	g.fakeDisks = &disks.Loops{Dir: g.volume, Patience: time.Second}
	if err := g.fakeDisks.Supported(dir); err != nil {
		t.Skip(err)
	}
	label := filepath.Base(filepath.Dir(dir))
	g.watch = guest.NewWatch(g.rt, "machine-test", label)
	ctx, quit := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() { defer close(watched); g.watch.Run(ctx) }()
	if _, err := g.rt.Output(t.Context(), "network", "create", g.name("net")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := g.rt.Output(context.Background(), "network", "rm", g.name("net")); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"a", "b"} {
		args := []string{
			"run", "--detach", "--privileged", "--network", g.name("net"), "--name", g.name(name), "--hostname", g.name(name), "--label", "machine-test=" + label,
			"--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined", "--tmpfs", "/tmp", "--tmpfs", "/run", "--volume", "/var",
			"--volume", g.byID(name) + ":/dev/disk/by-id", "--volume", filepath.Join(dir, "volumes") + ":/volumes",
		}
		if boots {
			args = append(args, image)
		} else {
			args = append(args, "--entrypoint", "sleep", image, "infinity")
		}
		if err := os.MkdirAll(g.byID(name), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if t.Failed() {
				out, _ := g.rt.Output(context.Background(), "logs", "--tail", "15", g.name(name))
				t.Logf("%s", out)
			}
			if err := g.rt.Remove(context.Background(), g.name(name)); err != nil {
				t.Error(err)
			}
		})
		if _, err := g.rt.Output(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		quit()
		<-watched
		if ended, pinned, err := loop.Reap(context.Background(), dir, 10*time.Second); ended+pinned > 0 || err != nil {
			t.Errorf("left behind: %d devices, %d in use: %v", ended, pinned, err)
		}
	})
	return g
}

func (g *ground) name(node string) string {
	return "machine-test-" + filepath.Base(filepath.Dir(g.dir)) + "-" + node
}
func (g *ground) byID(node string) string  { return filepath.Join(g.dir, node, "by-id") }
func (g *ground) volume(id string) string  { return filepath.Join(g.dir, "volumes", id) }
func (g *ground) inside(dir string) string { return strings.Replace(dir, g.dir, "", 1) }

func (g *ground) machine(name string, d guest.Disks) *guest.Guest {
	g.t.Helper()
	m, err := guest.New(guest.Options{
		Name: name, Container: g.name(name), Runtime: g.rt, Watch: g.watch, Network: g.name("net"), Disks: d, ByID: g.byID(name),
		Notify: func(c child.Change) { g.t.Logf("%+v", c) }, Notice: func(err error) { g.t.Log(err) },
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		if err := m.Stop(context.Background()); err != nil {
			g.t.Error(err)
		}
	})
	m.Observe(vm())
	g.until(m, "running", node.Running)
	return m
}

// until waits for a status of the container and a state of the Guest, and logs how long that took.
func (g *ground) until(m *guest.Guest, status string, want node.Process) {
	g.t.Helper()
	began := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(60 * time.Second); ; {
		if p, _, _ := m.State(); p == want {
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			p, pid, n := m.State()
			g.t.Fatalf("is %q (%d, %d), want %q", p, pid, n, want)
		}
	}
	g.t.Logf("%s after %v", want, time.Since(began).Round(time.Millisecond))
}

func (g *ground) requireStatus(name, want string) {
	g.t.Helper()
	c, err := g.rt.Inspect(g.t.Context(), g.name(name))
	if err != nil && !coded.Is(err, runtime.ContainerMissing) || c.Status != want {
		g.t.Errorf("container is %q, %v, want %q", c.Status, err, want)
	}
}

// run runs a script in a guest.
func (g *ground) run(name, script string) (string, error) {
	var out bytes.Buffer
	err := g.rt.Exec(g.t.Context(), g.name(name), nil, &out, nil, "sh", "-c", "exec 2>&1; "+script)
	return strings.TrimSpace(out.String()), err
}

func (g *ground) must(name, script string) string {
	g.t.Helper()
	out, err := g.run(name, script)
	if err != nil {
		g.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return out
}

// create makes a volume.
func (g *ground) create(id string, bytes int64) node.Disk {
	g.t.Helper()
	if err := disk.Create(g.volume(id), bytes); err != nil {
		g.t.Fatal(err)
	}
	return node.Disk{UUID: "6000C290-0000-4000-8000-" + fmt.Sprintf("%012s", id), VolumeID: id, Bytes: bytes}
}

func (g *ground) ok(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func dev(d node.Disk) string { return "/dev/disk/by-id/" + names.DeviceLink(d.UUID) }

func TestRealLife(t *testing.T) {
	g := realGround(t, true)
	m := g.machine("a", nil)
	m.Observe(vm(suspended))
	g.until(m, "paused", node.Paused)
	g.requireStatus("a", "paused")
	m.Observe(vm())
	g.until(m, "running", node.Running)
	if !m.Hang() {
		t.Error("it cannot be hung")
	}
	g.until(m, "paused", node.Hung)
	m.Observe(vm(off))
	g.until(m, "exited", node.Stopped)
	g.requireStatus("a", "exited")
	m.Observe(vm(bootedAgain))
	g.until(m, "running", node.Running)
	m.Observe(vm(bootedAgain, toolsDown))
	m.Observe(vm(off))
	g.until(m, "exited", node.Stopped)
	m.Observe(vm(bootedAgain))
	g.until(m, "running", node.Running)
	g.ok(g.rt.Kill(t.Context(), g.name("a"))) // as another process would
	g.until(m, "exited", node.Crashing)
	g.until(m, "running", node.Running)
	m.Observe(vm(bootedAgain, destroyed))
	g.until(m, "exited", node.Stopped)
	g.ok(m.Stop(t.Context()))
	g.requireStatus("a", "exited")
}

// What a killed guest has written is there for the next, and the disk goes from one to the other.
func TestRealDisk(t *testing.T) {
	g := realGround(t, false)
	a, b := g.machine("a", g.fakeDisks), g.machine("b", g.fakeDisks)
	d := g.create("1", 64<<20)
	began := time.Now()
	g.ok(a.Attach(t.Context(), d))
	t.Logf("the first disk after %v", time.Since(began).Round(time.Microsecond))
	g.must("a", "mkfs.ext4 -q "+dev(d)+" && mkdir /mnt/v && mount "+dev(d)+" /mnt/v && echo data >/mnt/v/file")

	// Larger, while it is mounted.
	g.ok(disk.Resize(g.volume("1"), 128<<20))
	g.ok(a.Resize(t.Context(), d))
	if n := g.must("a", "blockdev --getsize64 "+dev(d)); n != fmt.Sprint(128<<20) {
		t.Errorf("%s bytes", n)
	}
	if out, err := g.run("a", "resize2fs /dev/loop$(printf %d 0x$(stat -c %T "+dev(d)+"))"); err != nil && !strings.Contains(out, "Permission denied") {
		t.Errorf("%v: %s", err, out) // permission takes CAP_SYS_RESOURCE, which not every machine gives
	}

	// What was written is in a copy of the volume.
	g.ok(a.Flush(t.Context(), d))
	g.ok(disk.Copy(t.Context(), g.volume("1"), g.volume("2")))
	if out, err := exec.Command("debugfs", "-R", "cat file", filepath.Join(g.volume("2"), "block")).CombinedOutput(); !strings.Contains(string(out), "data") {
		t.Errorf("copy: %s, %v", out, err)
	}

	a.Observe(vm(off)) // power is lost with the file system mounted
	g.until(a, "exited", node.Stopped)
	began = time.Now()
	g.ok(a.Detach(t.Context(), d))
	t.Logf("detached after %v", time.Since(began).Round(time.Microsecond))
	g.ok(b.Attach(t.Context(), d))
	if s := g.must("b", "mkdir /mnt/v && mount "+dev(d)+" /mnt/v && cat /mnt/v/file"); s != "data" {
		t.Errorf("it has %q", s)
	}

	// The guest hangs, and its disk is detached: what it writes later is lost.
	g.must("b", "echo more >>/mnt/v/file; sync")
	b.Hang()
	g.until(b, "paused", node.Hung)
	a.Observe(vm(bootedAgain))
	g.until(a, "running", node.Running)
	began = time.Now()
	g.ok(b.Detach(t.Context(), d))
	t.Logf("pulled out of a hung guest after %v", time.Since(began).Round(time.Millisecond))
	g.ok(a.Attach(t.Context(), d))
	if s := g.must("a", "mount "+dev(d)+" /mnt/v && cat /mnt/v/file"); s != "data\nmore" {
		t.Errorf("it has %q", s)
	}
	b.Unhang()
	g.until(b, "running", node.Running)
	if out, err := g.run("b", "echo lost >>/mnt/v/file && sync /mnt/v/file"); err == nil {
		t.Errorf("written to a disk that was pulled out: %s", out)
	}
	if s := g.must("a", "echo 3 >/proc/sys/vm/drop_caches; cat /mnt/v/file; umount /mnt/v; fsck.ext4 -fn "+dev(d)); !strings.Contains(s, "data\nmore") || strings.Contains(s, "lost") {
		t.Errorf("it has %q", s)
	}
	g.ok(a.Detach(t.Context(), d))
	if out, err := g.run("a", "test -e "+dev(d)); err == nil {
		t.Errorf("it is still there: %s", out)
	}
	b.Observe(vm(off)) // and lets go of the device at last
	g.until(b, "exited", node.Stopped)
}

func TestRealManyDisks(t *testing.T) {
	g := realGround(t, false)
	a := g.machine("a", g.fakeDisks)
	var all []node.Disk
	began := time.Now()
	for n := range names.MaxVolumes {
		d := g.create(fmt.Sprint(n), 8<<20)
		g.ok(a.Attach(t.Context(), d))
		all = append(all, d)
	}
	t.Logf("%d disks after %v", len(all), time.Since(began).Round(time.Millisecond))
	if n := g.must("a", "for d in /dev/disk/by-id/*; do blockdev --getsize64 $d; done | grep -c "+fmt.Sprint(8<<20)); n != fmt.Sprint(len(all)) {
		t.Errorf("the guest sees %s", n)
	}
	began = time.Now()
	for _, d := range all[:len(all)/2] {
		g.ok(a.Detach(t.Context(), d))
	}
	t.Logf("%d gone after %v", len(all)/2, time.Since(began).Round(time.Millisecond))
	g.ok(a.Stop(t.Context())) // takes the others
}

// Where there are no loop devices, directories are shown.
func TestRealLinks(t *testing.T) {
	g := realGround(t, false)
	d := g.create("1", 8<<20)
	a := g.machine("a", &disks.Links{Dir: g.volume, Inside: g.inside})
	g.ok(a.Attach(t.Context(), d))
	g.must("a", "echo data >"+dev(d)+"/data/file")
	if b, err := os.ReadFile(filepath.Join(g.volume("1"), "data", "file")); string(b) != "data\n" {
		t.Errorf("%q, %v", b, err)
	}
	g.ok(a.Detach(t.Context(), d))
	if _, err := g.run("a", "test -e "+dev(d)); err == nil {
		t.Error("it is still there")
	}
	wrong := g.machine("b", &disks.Links{Dir: g.volume})
	if err := wrong.Attach(t.Context(), d); err == nil || !strings.Contains(err.Error(), "does not see") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}

// Cut, the guests do not reach each other; what is under way is reset or stalls; mended, all is as before.
func TestRealCut(t *testing.T) {
	g := realGround(t, false)
	a := g.machine("a", nil)
	c, err := g.rt.Inspect(t.Context(), g.name("b"))
	g.ok(err)
	ping := "timeout 5 bash -c 'exec 3<>/dev/tcp/" + c.Networks[g.name("net")].String() + "/9' 2>&1"
	refused := func(when string) {
		t.Helper()
		began := time.Now()
		if out, _ := g.run("a", ping); !strings.Contains(out, "refused") || time.Since(began) > 3*time.Second {
			t.Errorf("%s: %q after %v", when, out, time.Since(began))
		}
	}
	refused("whole") // by the other container, which has no listener
	for range 2 {
		g.ok(a.Cut(true))
		if out, err := g.run("a", ping); err == nil || strings.Contains(out, "refused") {
			t.Errorf("silent: %q, %v", out, err)
		}
		g.ok(a.Cut(false))
		refused("loud")
		if n := g.must("a", "iptables -w -S VSPHERE-SANDBOX-CUT | grep -c -- -A"); n != "6" {
			t.Errorf("%s rules", n)
		}
	}
	a.Observe(vm(off))
	g.until(a, "exited", node.Stopped)
	a.Observe(vm(bootedAgain))
	g.until(a, "running", node.Running)
	g.ok(a.Cut(false)) // waits for its turn: by then it was cut again
	g.must("a", "iptables -w -S VSPHERE-SANDBOX-CUT")
	g.ok(a.Restore())
	if out, err := g.run("a", "iptables -w -S; iptables -w -t mangle -S"); err != nil || strings.Contains(out, "VSPHERE") {
		t.Errorf("%v: %s", err, out)
	}
	refused("mended")
}
