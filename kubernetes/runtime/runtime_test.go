package runtime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	remote "k8s.io/cri-client/pkg"
	utilexec "k8s.io/utils/exec"
)

// node is a runtime with a pod.
type node struct {
	*Runtime
	t   *testing.T
	pod *runtimeapi.PodSandboxConfig
	id  string
}

// newNode returns a runtime whose pod has annotations, as key and value in turn.
func newNode(t *testing.T, annotations ...string) *node {
	t.Helper()
	root := t.TempDir()
	r := New(t.Context(), Options{Node: "worker-1", RootDir: root, DiskBytes: 40 << 30, DiskInodes: 1 << 20})
	t.Cleanup(r.Stop)
	if err := r.UpdateRuntimeConfig(t.Context(), &runtimeapi.RuntimeConfig{NetworkConfig: &runtimeapi.NetworkConfig{PodCidr: "10.128.3.0/24"}}); err != nil {
		t.Fatal(err)
	}
	pod := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "pod", Namespace: "default", Uid: "uid"}, Hostname: "pod",
		LogDirectory: filepath.Join(root, "pod-logs"), Annotations: map[string]string{},
	}
	for i := 0; i < len(annotations); i += 2 {
		pod.Annotations[annotations[i]] = annotations[i+1]
	}
	id, err := r.RunPodSandbox(t.Context(), pod, "")
	if err != nil {
		t.Fatal(err)
	}
	return &node{r, t, pod, id}
}

// create creates a container and returns its ID.
func (n *node) create(change func(*runtimeapi.ContainerConfig), command ...string) (string, error) {
	n.t.Helper()
	config := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "c", Attempt: 2}, Image: &runtimeapi.ImageSpec{Image: "busybox:latest"},
		Command: command, LogPath: "c/2.log",
	}
	if change != nil {
		change(config)
	}
	if _, err := n.PullImage(n.t.Context(), config.Image, nil, n.pod); err != nil {
		return "", err
	}
	return n.CreateContainer(n.t.Context(), n.id, config, n.pod)
}

// start starts a container and returns its ID.
func (n *node) start(change func(*runtimeapi.ContainerConfig), command ...string) string {
	n.t.Helper()
	id, err := n.create(change, command...)
	if err != nil {
		n.t.Fatal(err)
	}
	if err := n.StartContainer(n.t.Context(), id); err != nil {
		n.t.Fatal(err)
	}
	return id
}

func (n *node) status(id string) *runtimeapi.ContainerStatus {
	n.t.Helper()
	s, err := n.ContainerStatus(n.t.Context(), id, false)
	if err != nil {
		n.t.Fatal(err)
	}
	return s.Status
}

// ended waits for the container's end.
func (n *node) ended(id string) *runtimeapi.ContainerStatus {
	n.t.Helper()
	c, err := n.find(id)
	if err != nil {
		n.t.Fatal(err)
	}
	if !c.wait(n.t.Context(), 30*time.Second) {
		n.t.Fatal("it runs on")
	}
	return n.status(id)
}

// A container's states, with times, exit code, reason and log, as a runtime reports them.
func TestStates(t *testing.T) {
	n := newNode(t)
	id, err := n.create(nil, "sh", "-c", "echo out; echo err >&2; printf end; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	if s := n.status(id); s.State != runtimeapi.ContainerState_CONTAINER_CREATED || s.StartedAt != 0 || s.Metadata.Attempt != 2 {
		t.Errorf("created: %+v", s)
	}
	if err := n.StartContainer(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s := n.ended(id)
	if s.State != runtimeapi.ContainerState_CONTAINER_EXITED || s.ExitCode != 3 || s.Reason != "Error" || s.StartedAt < s.CreatedAt || s.FinishedAt < s.StartedAt {
		t.Errorf("ended: %+v", s)
	}
	b, err := os.ReadFile(s.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^\S+Z stdout F out\n\S+Z stderr F err\n\S+Z stdout F end\n$`).Match(b) {
		t.Errorf("log: %q", b)
	}
	if err := n.StartContainer(t.Context(), id); err == nil {
		t.Error("it started twice")
	}
	list, err := n.ListContainers(t.Context(), &runtimeapi.ContainerFilter{State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING}})
	if len(list) != 0 || err != nil {
		t.Errorf("running: %v %v", list, err)
	}
	if err := n.RemoveContainer(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := n.ContainerStatus(t.Context(), id, false); err == nil {
		t.Error("it is still there")
	}
	if entries, _ := os.ReadDir(n.containersDir()); len(entries) != 0 {
		t.Errorf("files stay: %v", entries)
	}
}

// What a container does, and how it ends when it is stopped.
func TestPrograms(t *testing.T) {
	image := func(name string, args ...string) func(*runtimeapi.ContainerConfig) {
		return func(c *runtimeapi.ContainerConfig) { c.Image.Image, c.Args = name, args }
	}
	for name, test := range map[string]struct {
		change      func(*runtimeapi.ContainerConfig)
		command     []string
		annotations []string
		grace       int64 // to stop it; negative: it ends without that
		code        int32
		reason      string
	}{
		"script":                     {nil, []string{"sh", "-c", "exit 0"}, nil, -1, 0, "Completed"},
		"arguments of a shell image": {image("busybox:1.36", "sh", "-c", "exit 4"), nil, nil, -1, 4, "Error"},
		"a shell without input":      {image("docker.io/library/alpine"), nil, nil, -1, 0, "Completed"},
		"unknown program":            {image("nginx"), nil, nil, 5, 0, "Completed"},
		"unknown program, killed":    {image("nginx"), nil, nil, 0, 137, "Error"},
		"program in a script":        {nil, []string{"sh", "-c", "echo armed; exec nginx"}, nil, 5, 0, "Completed"},
		"missing program":            {nil, []string{"sh", "-c", "nginx; exit $?"}, nil, -1, 127, "Error"},
		"stopped script":             {nil, []string{"sleep", "1000"}, nil, 5, 143, "Error"},
		"killed script":              {nil, []string{"sh", "-c", "trap '' TERM; echo armed; sleep 1000"}, nil, 1, 137, "Error"},
		"init container":             {image("migrate"), nil, []string{EndsKey, "a,c"}, -1, 0, "Completed"},
		"pause":                      {image("registry.k8s.io/pause:3.10"), nil, []string{EndsKey, "c"}, 5, 0, "Completed"},
		"duration":                   {image("nginx"), nil, []string{BehaviorKey, "{duration: 10ms, exitCode: 7}"}, -1, 7, "Error"},
		"crashes":                    {image("nginx"), nil, []string{BehaviorKey, "{crashEvery: 10ms}"}, -1, 1, "Error"},
		"for another container":      {image("nginx"), nil, []string{BehaviorKey + ".other", "{crashEvery: 10ms}"}, 5, 0, "Completed"},
		"for this container":         {image("nginx"), nil, []string{BehaviorKey, "{}", BehaviorKey + ".c", "{crashEvery: 10ms}"}, -1, 1, "Error"},
		"before a command":           {nil, []string{"sh", "-c", "exit 9"}, []string{BehaviorKey, "{duration: 1ms}"}, -1, 0, "Completed"},
		"slow to stop":               {image("nginx"), nil, []string{BehaviorKey, "{stopAfter: 1h}"}, 1, 137, "Error"},
		"out of memory": {func(c *runtimeapi.ContainerConfig) {
			c.Linux = &runtimeapi.LinuxContainerConfig{Resources: &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 1 << 20}}
		}, nil, []string{BehaviorKey, "{memory: 2Mi}"}, -1, 137, "OOMKilled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, test.annotations...)
			id := n.start(test.change, test.command...)
			if test.grace >= 0 {
				if s := n.status(id); s.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
					t.Errorf("%+v", s)
				}
				if strings.Contains(strings.Join(test.command, " "), "armed") {
					n.logged(id, "armed")
				}
				if strings.Contains(strings.Join(test.command, " "), "exec") {
					n.standing(id)
				}
				if err := n.StopContainer(t.Context(), id, test.grace); err != nil {
					t.Fatal(err)
				}
			}
			if s := n.ended(id); s.ExitCode != test.code || s.Reason != test.reason {
				t.Errorf("code %d, reason %s; want %d, %s", s.ExitCode, s.Reason, test.code, test.reason)
			}
		})
	}
}

// logged waits until the container's log has a text.
func (n *node) logged(id, text string) {
	n.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		b, err := os.ReadFile(n.status(id).LogPath)
		if strings.Contains(string(b), text) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			n.t.Fatalf("no %q in its log: %q %v", text, b, err)
		}
	}
}

// standing waits until the container runs a program that is not here.
func (n *node) standing(id string) {
	n.t.Helper()
	c, err := n.find(id)
	if err != nil {
		n.t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !c.listens("80") {
		<-tick.C
	}
}

// A behavior with a mistake is refused, with what it should be.
func TestBehaviorRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{duraton: 1s}":                  `unknown field "duraton": did you mean "duration"?`,
		"{zzz: 1}":                       `unknown field "zzz": want duration`,
		"{duration: -1s}":                "is negative",
		"{duration: soon}":               "duration",
		"{exitCode: 300}":                "exitCode: 300 is not from 0 to 255",
		"{duration: 1s, crashEvery: 1s}": "exclude each other",
		"{ports: {http: http}}":          `ports: "http" is no port`,
		"{ports: {80: ftp}}":             `"ftp": want http or echo`,
		"{logEvery: 1ns}":                "logEvery",
		"- a":                            "annotation sandbox.vsphere/behavior",
	} {
		n := newNode(t, BehaviorKey, text)
		if _, err := n.create(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestImages(t *testing.T) {
	n := newNode(t, MissingKey, "*/web:broken, tool")
	for name, want := range map[string]string{
		"nginx": "", "r.example/web:1": "", "r.example/web:broken": "not found", "tool:latest": "not found", "registry.invalid/a:1": "no such host",
	} {
		spec := &runtimeapi.ImageSpec{Image: name}
		_, err := n.PullImage(t.Context(), spec, nil, n.pod)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
		if s, err := n.ImageStatus(t.Context(), spec, false); err != nil || (s.Image != nil) != (want == "") {
			t.Errorf("%s: %v %v", name, s, err)
		}
	}
	if all, err := n.ListImages(t.Context(), nil); len(all) != 2 || err != nil {
		t.Errorf("%v %v", all, err)
	}
	if err := n.RemoveImage(t.Context(), &runtimeapi.ImageSpec{Image: "nginx"}); err != nil || n.images.find("nginx") != nil {
		t.Errorf("it is still there: %v", err)
	}
}

// Pods have different addresses of the node's range; one that is free again comes last.
func TestAddresses(t *testing.T) {
	var a addresses
	if err := a.set("10.1.0.0/29,fd00::/64"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 5 {
		ip, err := a.take()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ip.String())
		if len(got) == 2 {
			a.free(ip)
		}
	}
	if s := strings.Join(got, " "); s != "10.1.0.2 10.1.0.3 10.1.0.4 10.1.0.5 10.1.0.6" {
		t.Error(s)
	}
	if ip, err := a.take(); err != nil || ip.String() != "10.1.0.3" {
		t.Errorf("%s %v", ip, err)
	}
	if _, err := a.take(); err == nil {
		t.Error("there was one more")
	}
	one, other := addresses{node: "a"}, addresses{node: "b"}
	x, _ := one.take()
	y, _ := other.take()
	if x == y || !strings.HasPrefix(x.String(), "100.") {
		t.Errorf("without podCIDR: %s and %s", x, y)
	}
}

// Probes: of the pod's commands, and of ports, which the kubelet asks for in place of a network.
func TestExecSync(t *testing.T) {
	n := newNode(t)
	id := n.start(nil, "sh", "-c", "touch /tmp/healthy; echo up; sleep 1000")
	n.logged(id, "up")
	ok := func(cmd ...string) error {
		_, _, err := n.ExecSync(t.Context(), id, cmd, 10*time.Second)
		return err
	}
	if err := ok("cat", "/tmp/healthy"); err != nil {
		t.Error(err)
	}
	var exit utilexec.ExitError
	if err := ok("cat", "/tmp/sick"); !errors.As(err, &exit) || exit.ExitStatus() != 1 {
		t.Errorf("%v", err)
	}
	if out, _, err := n.ExecSync(t.Context(), id, []string{"sh", "-c", "echo $0 $HOSTNAME; ls /tmp"}, 0); string(out) != "sh pod\nhealthy\n" || err != nil {
		t.Errorf("%q %v", out, err)
	}
	if _, _, err := n.ExecSync(t.Context(), id, []string{"sleep", "100"}, 50*time.Millisecond); !errors.Is(err, remote.ErrCommandTimedOut) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(ok("pg_isready"), ok("sh", "-c", "redis-cli ping | grep PONG")); err != nil {
		t.Errorf("programs that are not here: %v", err)
	}
	if err := ok(probeCommand, "http", "80", "/"); err == nil {
		t.Error("a script listens")
	}
	if err := n.StopContainer(t.Context(), id, 5); err != nil {
		t.Fatal(err)
	}
	if err := ok("true"); err == nil {
		t.Error("it ran in a container that had ended")
	}
}

// Ports answer when the container is ready: all, or those that it declares.
func TestProbes(t *testing.T) {
	for name, test := range map[string]struct {
		behavior string
		port     string
		want     string
	}{
		"stand-in":      {"", "80", ""},
		"declared":      {"{ports: {80: http}}", "80", ""},
		"another":       {"{ports: {80: http}}", "81", `Get "http://10.128.3.2:81/x": dial tcp 10.128.3.2:81: connect: connection refused`},
		"not yet ready": {"{readyAfter: 1h}", "80", "connection refused"},
		"no port":       {"", "web", "couldn't find port: web"},
	} {
		var annotations []string
		if test.behavior != "" {
			annotations = []string{BehaviorKey, test.behavior}
		}
		n := newNode(t, annotations...)
		id := n.start(func(c *runtimeapi.ContainerConfig) { c.Image.Image = "nginx" })
		if test.behavior == "" {
			n.standing(id)
		}
		out, _, err := n.ExecSync(t.Context(), id, []string{probeCommand, "http", test.port, "/x"}, time.Second)
		if (err == nil) != (test.want == "") || test.want != "" && !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %q %v", name, out, err)
		}
	}
}

// A pod as the kubelet gets it needs no network, and says which containers end.
func TestAdapt(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Annotations:     map[string]string{EndsKey: "forged"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:  corev1.RestartPolicyNever,
			InitContainers: []corev1.Container{{Name: "i"}, {Name: "side", RestartPolicy: &always}},
			Containers: []corev1.Container{{
				Name: "c", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}},
				LivenessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("web"), Path: "/live"}}},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(5432)}}},
				StartupProbe:   &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9}}},
				Lifecycle:      &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(1)}}},
			}},
		},
	}
	Adapt(pod)
	c := pod.Spec.Containers[0]
	for _, h := range []struct {
		exec *corev1.ExecAction
		want string
	}{
		{c.LivenessProbe.Exec, "http 8080 /live"}, {c.ReadinessProbe.Exec, "tcp 5432 "}, {c.StartupProbe.Exec, "grpc 9 "}, {c.Lifecycle.PreStop.Exec, "http 1 "},
	} {
		if h.exec == nil || strings.Join(h.exec.Command[1:], " ") != h.want {
			t.Errorf("%+v, want %s", h.exec, h.want)
		}
	}
	if c.LivenessProbe.HTTPGet != nil || c.ReadinessProbe.TCPSocket != nil || c.StartupProbe.GRPC != nil || c.Lifecycle.PreStop.HTTPGet != nil {
		t.Error("it still has requests")
	}
	if got := pod.Annotations[EndsKey]; got != "i,c" {
		t.Errorf("ends: %q", got)
	}
}

// Files: a subPath, a ConfigMap, a volume of the VM's own files, and none of the host.
func TestFiles(t *testing.T) {
	n := newNode(t)
	volume := filepath.Join(n.opts.RootDir, "pods", "volume")
	if err := os.MkdirAll(filepath.Join(volume, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("host secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	id := n.start(func(c *runtimeapi.ContainerConfig) {
		c.Mounts = []*runtimeapi.Mount{
			{ContainerPath: "/sub", HostPath: volume + Below + "sub"}, {ContainerPath: "/vm", HostPath: outside}, {ContainerPath: "/ro", HostPath: volume, Readonly: true},
		}
	}, "sh", "-c", "echo data > /sub/f; cat /ro/sub/f; cat /vm/secret; echo vm > /vm/f; echo x > /ro/f; ls /")
	n.ended(id)
	b, err := os.ReadFile(n.status(id).LogPath)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"stdout F data", "cat: /vm/secret: No such file or directory", "read-only file system", "stdout F sub\n", "stdout F vm\n", "stdout F etc\n"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in\n%s", want, b)
		}
	}
	if b, err := os.ReadFile(filepath.Join(n.hostDir(), outside, "f")); string(b) != "vm\n" || err != nil {
		t.Errorf("the VM's file: %q %v", b, err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("the host's folder: %v", entries)
	}
}

// A log that grows too fast slows its writer down.
func TestLogBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	synctest.Test(t, func(t *testing.T) {
		l := &containerLog{path: path}
		if err := l.open(); err != nil {
			t.Fatal(err)
		}
		defer l.close()
		begin := time.Now()
		w := l.stream("stdout")
		line := append(bytes.Repeat([]byte("x"), 1<<10), '\n')
		for range 4 << 10 {
			if _, err := w.Write(line); err != nil {
				t.Fatal(err)
			}
		}
		if took, want := time.Since(begin), time.Duration((4<<20-logBurst)/logRate)*time.Second; took < want || took > 2*want {
			t.Errorf("4 MiB took %s, want %s", took, want)
		}
	})
}

// stream connects to a URL of the runtime as the kubelet does.
func stream(t *testing.T, raw string, options remotecommand.StreamOptions) error {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	e, err := remotecommand.NewSPDYExecutor(&rest.Config{}, http.MethodPost, u)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return e.StreamWithContext(ctx, options)
}

func TestExec(t *testing.T) {
	n := newNode(t)
	id := n.start(nil, "sh", "-c", "echo up; sleep 1000")
	var out, errs bytes.Buffer
	resp, err := n.Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: id, Cmd: []string{"sh", "-c", "cat; echo oops >&2; exit 5"}, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		t.Fatal(err)
	}
	if host := strings.TrimPrefix(resp.Url, "http://"); !strings.HasPrefix(host, "127.0.0.1:") {
		t.Errorf("it listens at %s", resp.Url)
	}
	err = stream(t, resp.Url, remotecommand.StreamOptions{Stdin: strings.NewReader("typed"), Stdout: &out, Stderr: &errs})
	var exit utilexec.ExitError
	if !errors.As(err, &exit) || exit.ExitStatus() != 5 || out.String() != "typed" || errs.String() != "oops\n" {
		t.Errorf("%v %q %q", err, out.String(), errs.String())
	}
	if err := stream(t, resp.Url, remotecommand.StreamOptions{Stdout: &out}); err == nil {
		t.Error("the URL is good twice")
	}
	resp, err = n.Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: id, Cmd: []string{"psql"}, Stdout: true, Stderr: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := stream(t, resp.Url, remotecommand.StreamOptions{Stdout: &out, Stderr: &errs}); err == nil || !strings.Contains(err.Error(), "executable file not found") {
		t.Errorf("%v", err)
	}
	// Attached clients get what is written from then on, until the container ends.
	attach, err := n.Attach(t.Context(), &runtimeapi.AttachRequest{ContainerId: id, Stdout: true, Stderr: true})
	if err != nil {
		t.Fatal(err)
	}
	attached := make(chan error)
	go func() {
		attached <- stream(t, attach.Url, remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard})
	}()
	if err := n.StopContainer(t.Context(), id, 5); err != nil {
		t.Fatal(err)
	}
	if err := <-attached; err != nil && !errors.As(err, &exit) && !strings.Contains(err.Error(), "CONTAINER_EXITED") {
		t.Errorf("%v", err)
	}
}

// A port that a behavior declares answers; any other refuses.
func TestPortForward(t *testing.T) {
	n := newNode(t, BehaviorKey, "{ports: {80: http, 7: echo}}")
	n.start(func(c *runtimeapi.ContainerConfig) { c.Image.Image = "web" })
	connect := func(port int32) (net.Conn, chan error) {
		client, server := net.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- n.forward(t.Context(), n.id, port, server) }()
		return client, ended
	}
	c, _ := connect(7)
	_, _ = c.Write([]byte("ping"))
	b := make([]byte, 4)
	if _, err := io.ReadFull(c, b); string(b) != "ping" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	_ = c.Close()
	c, ended := connect(80)
	web := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return c, nil }, DisableKeepAlives: true}}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://pod/path", nil)
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !strings.HasPrefix(string(text), "GET /path\npod: default/pod\n") || resp.StatusCode != http.StatusOK {
		t.Errorf("%d %q", resp.StatusCode, text)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v", err)
	}
	if _, ended := connect(81); true {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%v", err)
		}
	}
}

// The declared use, of running containers only.
func TestStats(t *testing.T) {
	n := newNode(t, BehaviorKey, "{cpu: 250m, memory: 64Mi}")
	id := n.start(func(c *runtimeapi.ContainerConfig) { c.Image.Image = "web" })
	s, err := n.ContainerStats(t.Context(), id)
	if err != nil || s.Cpu.UsageNanoCores.Value != 250e6 || s.Memory.WorkingSetBytes.Value != 64<<20 {
		t.Errorf("%v %v", s, err)
	}
	pods, err := n.ListPodSandboxStats(t.Context(), nil)
	if err != nil || len(pods) != 1 || pods[0].Linux.Cpu.UsageNanoCores.Value != 250e6 {
		t.Errorf("%v %v", pods, err)
	}
	if err := n.StopPodSandbox(t.Context(), n.id); err != nil {
		t.Fatal(err)
	}
	if all, err := n.ListContainerStats(t.Context(), nil); len(all) != 0 || err != nil {
		t.Errorf("%v %v", all, err)
	}
	if st, err := n.PodSandboxStatus(t.Context(), n.id, false); err != nil || st.Status.State != runtimeapi.PodSandboxState_SANDBOX_NOTREADY {
		t.Errorf("%v %v", st, err)
	}
	if s := n.status(id); s.ExitCode != 137 {
		t.Errorf("%+v", s)
	}
}
