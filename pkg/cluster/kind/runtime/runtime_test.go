package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// script is a runner that answers as a test says: by command line, what is printed, or after "!" what is said in failing.
type script map[string]string

func (s script) Run(ctx context.Context, c Call) error {
	said, known := s[strings.Join(c.Args, " ")]
	if !known {
		return exec.ErrNotFound
	}
	if words, failed := strings.CutPrefix(said, "!"); failed {
		fmt.Fprintln(c.Stderr, words)
		return &ExitError{Status: 1}
	}
	_, err := io.WriteString(c.Stdout, said)
	return err
}

// The words are those of real commands.
func TestErrorsAreExplained(t *testing.T) {
	for _, tc := range []struct{ name, said, code, message string }{
		{"docker", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", Stopped, "docker is installed, but its daemon does not respond: Cannot connect"},
		{"docker", `permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.50/containers/json": dial unix /var/run/docker.sock: connect: permission denied`, Denied, "docker denies access to this user"},
		{"podman", "Cannot connect to Podman. Please verify your connection to the Linux system using `podman system connection list`, or try `podman machine init`\nError: unable to connect to Podman socket: dial unix /run/podman.sock: connect: no such file or directory", Stopped, "podman is installed"},
		{"nerdctl", `time="…" level=fatal msg="rootless containerd not running? (hint: use containerd-rootless-setuptool.sh install to start rootless containerd): stat /run/user/1000: no such file or directory"`, Stopped, "nerdctl is installed"},
		{"docker", "Error response from daemon: No such container: gone", ContainerMissing, "docker exec --privileged: the container does not exist"},
		{"podman", `Error: no container with name or ID "gone" found: no such container`, ContainerMissing, ""},
		{"docker", "Error response from daemon: Container 0123 is not running", ContainerStopped, "the container does not run"},
		{"docker", "Error response from daemon: Container gone is paused, unpause the container before exec", ContainerStopped, ""},
		{"podman", "Error: can only create exec sessions on running containers: container state improper", ContainerStopped, ""},
		{"docker", "[]\nError response from daemon: no such image: x: No such image: x:latest", ImageMissing, ""},
		{"podman", "Error: x: image not known", ImageMissing, ""},
		{"docker", "Error response from daemon: something else", Failed, "docker exec: Error response from daemon: something else"},
		{"docker", `Error response from daemon: Get "https://registry-1.docker.io/v2/": dial tcp 10.0.0.1:443: connect: connection refused`, Failed, "docker exec: Error response from daemon: Get"},
		{"podman", "Error: initializing source docker://x:latest: pinging container registry localhost: Get \"https://localhost/v2/\": dial tcp [::1]:443: connect: connection refused", Failed, "podman exec: Error: initializing"},
		{"docker", "error during connect: Get \"http://10.0.0.1:2375/v1.50/info\": dial tcp 10.0.0.1:2375: connect: connection refused", Stopped, "its daemon does not respond"},
		{"docker", "", Failed, "docker exec: exit status 1"},
	} {
		_, err := With(tc.name, script{"exec": "!" + tc.said}).Output(t.Context(), "exec")
		message := strings.ReplaceAll(tc.message, " --privileged", "")
		if !coded.Is(err, tc.code) || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %q: got %v", tc.name, tc.said, err)
		}
		var e *coded.Error
		if errors.As(err, &e) && slices.Contains([]string{Stopped, Denied}, tc.code) && e.Try == "" {
			t.Errorf("%s: %q: nothing to try", tc.name, tc.said)
		}
	}
}

func TestDetect(t *testing.T) {
	const (
		version  = "--version"
		docker   = "version --format {{.Server.APIVersion}} {{.Server.Version}}"
		isDocker = "Docker version 28.2.2, build e6534b4\n"
		isPodman = "podman version 5.4.0\n"
		down     = "!Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
	)
	for name, tc := range map[string]struct {
		asked   string
		there   map[string]script
		want    string // a runtime's name, or after "!" a code
		message string
	}{
		"docker":                      {there: map[string]script{"docker": {version: isDocker, docker: "1.41 20.10.24\n"}}, want: "docker"},
		"podman":                      {there: map[string]script{"podman": {version: isPodman, "info": "{}"}}, want: "podman"},
		"podman by the name docker":   {there: map[string]script{"docker": {version: isPodman}, "podman": {version: isPodman, "info": "{}"}}, want: "podman"},
		"nerdctl":                     {there: map[string]script{"nerdctl": {version: "nerdctl version 2.0.3\n", "info": ""}}, want: "nerdctl"},
		"finch":                       {there: map[string]script{"finch": {version: "finch version v1.7.0\n", "info": ""}}, want: "finch"},
		"nothing":                     {want: "!" + Missing, message: "no container runtime is installed: kind needs docker, nerdctl, finch, podman"},
		"stopped":                     {there: map[string]script{"docker": {version: isDocker, docker: down}}, want: "!" + Stopped, message: "docker is installed, but its daemon does not respond"},
		"stopped, and another runs":   {there: map[string]script{"docker": {version: isDocker, docker: down}, "podman": {version: isPodman, "info": "{}"}}, want: "podman"},
		"old":                         {there: map[string]script{"docker": {version: isDocker, docker: "1.40 19.3.1\n"}}, want: "!" + Old, message: "Docker 19.3.1 is too old for kind: its API is 1.40, and 1.41 is needed"},
		"old podman":                  {there: map[string]script{"podman": {version: "podman version 3.4.4\n", "info": "{}"}}, want: "!" + Old, message: "podman version 3.4.4 is too old"},
		"asked":                       {asked: "podman", there: map[string]script{"docker": {version: isDocker, docker: "1.41 20\n"}, "podman": {version: isPodman, "info": "{}"}}, want: "podman"},
		"asked for what is not there": {asked: "podman", there: map[string]script{"docker": {version: isDocker, docker: "1.41 20\n"}}, want: "!" + Missing, message: "kind needs podman"},
		"asked for nonsense":          {asked: "lxc", want: "!" + Missing, message: "KIND_EXPERIMENTAL_PROVIDER=lxc: kind does not support this runtime"},
		"unclear":                     {there: map[string]script{"docker": {version: isDocker, docker: "<no value>\n"}}, want: "!" + Failed, message: "unexpected output"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := detect(t.Context(), tc.asked, func(name string) *Runtime { return With(name, tc.there[name]) })
			if code, failure := strings.CutPrefix(tc.want, "!"); failure {
				if !coded.Is(err, code) || !strings.Contains(err.Error(), tc.message) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || r.Name() != tc.want {
				t.Errorf("got %v, %v", r, err)
			}
		})
	}
}

func TestRemote(t *testing.T) {
	const inspect = "context inspect --format {{.Endpoints.docker.Host}}"
	for host, remote := range map[string]bool{
		"unix:///var/run/docker.sock": false, "npipe:////./pipe/docker_engine": false, "tcp://10.0.0.1:2375": true, "ssh://me@there": true,
	} {
		got := With("docker", script{inspect: host + "\n"}).Remote(t.Context())
		if (got != "") != remote || remote && got != host {
			t.Errorf("%s: %q", host, got)
		}
	}
	if got := With("docker", script{}).Remote(t.Context()); got != "" {
		t.Errorf("an old docker: %q", got)
	}
}

func TestContainers(t *testing.T) {
	got, err := parseContainers([]byte(`[{"Id":"abc","Name":"/a-worker","State":{"Status":"running","Pid":12,"ExitCode":0,"StartedAt":"2026-11-22T17:00:00Z"},
		"Config":{"Labels":{"io.x-k8s.kind.cluster":"a"}},"Mounts":[{"Type":"bind","Source":"/state/sandbox","Destination":"/kind/vsphere-sandbox"}],
		"NetworkSettings":{"Networks":{"kind":{"IPAddress":"172.18.0.2"},"other":{"IPAddress":""}}}}]`))
	want := []Container{{
		ID: "abc", Name: "a-worker", Status: "running", PID: 12, StartedAt: time.Date(2026, 11, 22, 17, 0, 0, 0, time.UTC),
		Labels: map[string]string{"io.x-k8s.kind.cluster": "a"}, Mounts: map[string]string{"/kind/vsphere-sandbox": "/state/sandbox"},
		Networks: map[string]netip.Addr{"kind": netip.MustParseAddr("172.18.0.2"), "other": {}},
	}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := With("docker", script{"container inspect a": "[]"}).Inspect(t.Context(), "a"); err == nil {
		t.Error("nothing inspected, and no error")
	}
}

func TestNetworks(t *testing.T) {
	for name, tc := range map[string]struct {
		out  string
		want Network
	}{
		"docker": {
			`[{"Name":"kind","Id":"n1","Labels":{"a":"b"},"IPAM":{"Config":[{"Subnet":"fc00::/64"},{"Subnet":"172.18.0.0/16","Gateway":"172.18.0.1"}]}}]`,
			Network{ID: "n1", Labels: map[string]string{"a": "b"}, Subnets: prefixes("fc00::/64", "172.18.0.0/16"), Gateways: addrs("172.18.0.1")},
		},
		"docker, before there was a container": {
			`[{"Id":"n1","IPAM":{"Config":[{"Subnet":"172.18.0.0/16"}]}}]`,
			Network{ID: "n1", Subnets: prefixes("172.18.0.0/16"), Gateways: addrs("172.18.0.1")},
		},
		"podman": {
			`[{"name":"kind","id":"n2","subnets":[{"subnet":"10.89.0.0/24","gateway":"10.89.0.1"}]}]`,
			Network{ID: "n2", Subnets: prefixes("10.89.0.0/24"), Gateways: addrs("10.89.0.1")},
		},
	} {
		r := With("docker", script{"network ls --filter name=^kind$ --format {{.Name}}": "kind\n", "network inspect kind": tc.out})
		got, there, err := r.Network(t.Context(), "kind")
		if diff := cmp.Diff(tc.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); err != nil || !there || diff != "" {
			t.Errorf("%s: %v, %t (-want +got):\n%s", name, err, there, diff)
		}
	}
	r := With("docker", script{"network ls --filter name=^kind$ --format {{.Name}}": "\n"})
	if _, there, err := r.Network(t.Context(), "kind"); there || err != nil {
		t.Errorf("none: %t, %v", there, err)
	}
}

func prefixes(all ...string) (p []netip.Prefix) {
	for _, s := range all {
		p = append(p, netip.MustParsePrefix(s))
	}
	return p
}

func addrs(all ...string) (a []netip.Addr) {
	for _, s := range all {
		a = append(a, netip.MustParseAddr(s))
	}
	return a
}

func TestEvents(t *testing.T) {
	out := `{"status":"die","id":"abc","Type":"container","Action":"die","Actor":{"ID":"abc","Attributes":{"exitCode":"137","name":"a-worker"}},"timeNano":1000000000}
not an event
{"ID":"abc","Image":"x","Name":"a-worker","Status":"died","Time":"2026","Type":"container","timeNano":2000000000}
`
	r := With("docker", script{"events --since 100 --filter type=container --filter label=l=v --format {{json .}}": out})
	var got []Event
	err := r.Events(t.Context(), "l", "v", time.Unix(100, 5), func(e Event) { got = append(got, e) })
	want := []Event{
		{Container: "a-worker", Action: "die", ExitCode: "137", Time: time.Unix(1, 0)},
		{Container: "a-worker", Action: "died", Time: time.Unix(2, 0)},
	}
	if diff := cmp.Diff(want, got); err == nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A real program is run with its input, ends with the context, and is explained when it is not there.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "docker")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncase $1 in cat) cat ;; fail) echo because >&2; exit 3 ;; wait) echo started; exec sleep 600 ;; esac\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := With("docker", command{name: path})
	var out strings.Builder
	if err := r.Do(t.Context(), Call{Args: []string{"cat"}, Stdin: strings.NewReader("in"), Stdout: &out}); err != nil || out.String() != "in" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if _, err := r.Output(t.Context(), "fail"); Status(err) != 3 || err.Error() != "docker fail: because: exit status 3" {
		t.Errorf("%v, status %d", err, Status(err))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	started := writer(func([]byte) { cancel(enough) })
	if err := r.Do(ctx, Call{Args: []string{"wait"}, Stdout: started}); !errors.Is(err, enough) {
		t.Errorf("ended with %v", err)
	}
	if _, err := New("vsphere-sandbox-no-such-runtime").Output(t.Context(), "ps"); !coded.Is(err, Missing) {
		t.Errorf("not installed: %v", err)
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func TestRemove(t *testing.T) {
	r := With("docker", script{"rm --force --volumes a b": "!Error response from daemon: No such container: a"})
	if err := r.Remove(t.Context(), "a", "b"); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
	if err := r.Remove(t.Context()); err != nil {
		t.Errorf("none: %v", err)
	}
}

func TestCapacity(t *testing.T) {
	for name, s := range map[string]script{
		"docker": {"info --format {{.NCPU}} {{.MemTotal}}": "2 25276514304\n"}, "podman": {"info --format {{.Host.CPUs}} {{.Host.MemTotal}}": "2 25276514304\n"},
	} {
		if got, err := With(name, s).Capacity(t.Context()); err != nil || got != (Capacity{2, 25276514304}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := With("docker", script{"info --format {{.NCPU}} {{.MemTotal}}": "<no value>\n"}).Capacity(t.Context()); err == nil {
		t.Error("nothing was told, and taken")
	}
}

// hung is a daemon that takes a call and never answers.
type hung struct{}

func (hung) Run(ctx context.Context, c Call) error {
	if c.Args[0] == "--version" {
		return script{"--version": "Docker version 28.2.2, build e6534b4\n"}.Run(ctx, c)
	}
	<-ctx.Done()
	return ctx.Err()
}

// A daemon that hangs ends in a timeout, and its error differs from that of a stopped one.
func TestHung(t *testing.T) {
	for name, ask := range map[string]func(*Runtime, context.Context) error{
		"check": (*Runtime).Check, "answer": (*Runtime).Answer,
		"detect": func(r *Runtime, ctx context.Context) error {
			_, err := detect(ctx, "docker", func(string) *Runtime { return r })
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			err := ask(With("docker", hung{}), t.Context())
			if !coded.Is(err, Stopped) || !strings.Contains(err.Error(), "has not responded within 20s") || time.Since(begin) != answerTime {
				t.Errorf("%s: after %s: %v", name, time.Since(begin), err)
			}
		})
	}
}

// A caller that cancels gets its context's error.
func TestAnswerIsNotWaitedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := With("docker", hung{}).Answer(ctx); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}
