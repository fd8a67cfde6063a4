package runtime

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Stop stops a container cleanly, and by force after grace.
func (r *Runtime) Stop(ctx context.Context, container string, grace time.Duration) error {
	return r.run(ctx, "stop", "--time", strconv.Itoa(int(grace.Round(time.Second)/time.Second)), container)
}

// Start starts a stopped container.
func (r *Runtime) Start(ctx context.Context, container string) error {
	return r.run(ctx, "start", container)
}

// Kill stops a container at once, as the loss of power does.
func (r *Runtime) Kill(ctx context.Context, container string) error {
	return r.run(ctx, "kill", container)
}

// Pause freezes all processes of a container, Unpause resumes them.
func (r *Runtime) Pause(ctx context.Context, container string) error {
	return r.run(ctx, "pause", container)
}

// Unpause ends [Runtime.Pause].
func (r *Runtime) Unpause(ctx context.Context, container string) error {
	return r.run(ctx, "unpause", container)
}

// Remove stops and removes containers and their anonymous volumes. Missing ones are no error.
func (r *Runtime) Remove(ctx context.Context, containers ...string) error {
	if len(containers) == 0 {
		return nil
	}
	err := r.run(ctx, append([]string{"rm", "--force", "--volumes"}, containers...)...)
	if coded.Is(err, ContainerMissing) {
		return nil // the command continues with the others
	}
	return err
}

// Exec runs a program in a container and returns when it has ended. A nil stream is empty. A non-zero exit status is an
// error; see [Status].
func (r *Runtime) Exec(ctx context.Context, container string, stdin io.Reader, stdout, stderr io.Writer, argv ...string) error {
	args := []string{"exec", "--privileged"}
	if stdin != nil {
		args = append(args, "--interactive")
	}
	args = append(append(args, container), argv...)
	err := r.Do(ctx, Call{Args: args, Stdin: stdin, Stdout: stdout, Stderr: stderr})
	if err != nil && coded.Is(err, Failed) && len(argv) > 0 {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return err
}

func (r *Runtime) run(ctx context.Context, args ...string) error {
	_, err := r.Output(ctx, args...)
	return err
}

// Container is the runtime's description of a container.
type Container struct {
	ID, Name string
	Labels   map[string]string
	// Status is docker's: created, running, paused, restarting, removing, exited, dead.
	Status string
	// PID is that of its first process on the daemon's host, 0 if it does not run.
	PID       int
	ExitCode  int
	StartedAt time.Time
	// Mounts has the paths on the daemon's host by the paths in the container.
	Mounts map[string]string
	// Networks has the container's address by network; invalid if it does not run.
	Networks map[string]netip.Addr
}

// Running reports whether it runs, paused or not.
func (c Container) Running() bool { return c.Status == "running" || c.Status == "paused" }

// Inspect returns the state of one container.
func (r *Runtime) Inspect(ctx context.Context, container string) (Container, error) {
	out, err := r.Output(ctx, "container", "inspect", container)
	if err != nil {
		return Container{}, err
	}
	all, err := parseContainers(out)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%d containers of one name", len(all))
	}
	if err != nil {
		return Container{}, fmt.Errorf("%s container inspect %s: %w", r.name, container, err)
	}
	return all[0], nil
}

func parseContainers(out []byte) ([]Container, error) {
	var raw []struct {
		ID    string `json:"Id"`
		Name  string
		State struct {
			Status    string
			Pid       int
			ExitCode  int
			StartedAt time.Time
		}
		Mounts          []struct{ Source, Destination string }
		Config          struct{ Labels map[string]string }
		NetworkSettings struct {
			Networks map[string]struct{ IPAddress string }
		}
	}
	if err := json.Unmarshal(out, &raw); err != nil {
		return nil, err
	}
	var all []Container
	for _, c := range raw {
		known := Container{
			ID: c.ID, Name: trimSlash(c.Name), Labels: c.Config.Labels, Status: c.State.Status, PID: c.State.Pid,
			ExitCode: c.State.ExitCode, StartedAt: c.State.StartedAt, Networks: map[string]netip.Addr{}, Mounts: map[string]string{},
		}
		for _, m := range c.Mounts {
			known.Mounts[m.Destination] = m.Source
		}
		for name, n := range c.NetworkSettings.Networks {
			addr, _ := netip.ParseAddr(n.IPAddress) // "" when it does not run
			known.Networks[name] = addr
		}
		all = append(all, known)
	}
	return all, nil
}

// trimSlash removes docker's slash from a container's name.
func trimSlash(name string) string {
	if name != "" && name[0] == '/' {
		return name[1:]
	}
	return name
}

// Event is an event of a container.
type Event struct {
	// Container is its name.
	Container string
	// Action is docker's name for it: create, start, die, kill, stop, pause, unpause, destroy and more.
	Action string
	// ExitCode is that of a container that died, otherwise "".
	ExitCode string
	Time     time.Time
}

// Events calls got, on one goroutine, for each event since then of the containers that have the label with that value. It
// returns when ctx or the stream ends, always with an error. since has a resolution of seconds.
func (r *Runtime) Events(ctx context.Context, label, value string, since time.Time, got func(Event)) error {
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := r.Do(ctx, Call{
			Args:   []string{"events", "--since", strconv.FormatInt(since.Unix(), 10), "--filter", "type=container", "--filter", "label=" + label + "=" + value, "--format", r.eventFormat()},
			Stdout: write,
		})
		_ = write.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(read)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if e, ok := parseEvent(lines.Bytes()); ok {
			got(e)
		}
	}
	_ = read.Close()
	if err := <-ended; err != nil {
		return err
	}
	return fmt.Errorf("%s events: ended", r.name)
}

func (r *Runtime) eventFormat() string {
	if r.Kind() == "podman" {
		return "json"
	}
	return "{{json .}}"
}

// parseEvent reads one line of docker's, podman's or nerdctl's events.
func parseEvent(line []byte) (Event, bool) {
	var raw struct {
		Action string // docker
		Actor  struct{ Attributes map[string]string }
		Status string // nerdctl; podman, whose name is at the top
		Name   string
		// TimeNano is docker's; podman has it as timeNano, which the decoder takes for the same.
		TimeNano int64 `json:"timeNano"`
	}
	if json.Unmarshal(line, &raw) != nil {
		return Event{}, false
	}
	e := Event{Container: raw.Actor.Attributes["name"], Action: raw.Action, ExitCode: raw.Actor.Attributes["exitCode"], Time: time.Unix(0, raw.TimeNano)}
	if e.Container == "" {
		e.Container = raw.Name
	}
	if e.Action == "" {
		e.Action = raw.Status
	}
	return e, e.Container != "" && e.Action != ""
}

// Remote returns the address of a daemon on another host, or "" if it is on this one or unknown. The mounts of its
// containers are then on that host, and it does not reach loopback addresses of this one.
func (r *Runtime) Remote(ctx context.Context) string {
	host, fixed := r.Endpoint()
	if !fixed {
		host, _ = r.daemon(ctx)
	}
	if strings.HasPrefix(host, "ssh://") || strings.HasPrefix(host, "tcp://") || strings.HasPrefix(host, "http") {
		return host
	}
	return ""
}

// Capacity is the size of the containers' host.
type Capacity struct {
	CPUs        int
	MemoryBytes uint64
}

// Capacity returns the resources that all containers share.
func (r *Runtime) Capacity(ctx context.Context) (Capacity, error) {
	format := "{{.NCPU}} {{.MemTotal}}"
	if r.Kind() == "podman" {
		format = "{{.Host.CPUs}} {{.Host.MemTotal}}"
	}
	out, err := r.Output(ctx, "info", "--format", format)
	if err != nil {
		return Capacity{}, err
	}
	var c Capacity
	if _, err := fmt.Sscan(string(out), &c.CPUs, &c.MemoryBytes); err != nil {
		return Capacity{}, fmt.Errorf("%s info: unexpected output: %q", r.name, shorten.FirstLine(string(out)))
	}
	return c, nil
}

// Desktop reports whether the daemon is in a VM of Docker Desktop or similar. Its containers reach this host by name
// ([HostName]), not by the gateway of a network.
func (r *Runtime) Desktop(ctx context.Context) bool {
	if r.Kind() != "docker" {
		return false
	}
	out, err := r.Output(ctx, "info", "--format", "{{.OperatingSystem}}")
	return err == nil && strings.Contains(strings.ToLower(string(out)), "desktop")
}

// HostName is the DNS name of this host in containers of a [Runtime.Desktop].
const HostName = "host.docker.internal"

// Image is the runtime's description of an image.
type Image struct {
	ID     string
	Labels map[string]string
	Tags   []string
}

// Image returns a local image, or an [coded.Error] with the code [ImageMissing].
func (r *Runtime) Image(ctx context.Context, name string) (Image, error) {
	out, err := r.Output(ctx, "image", "inspect", name)
	if err != nil {
		return Image{}, err
	}
	var raw []struct {
		ID       string `json:"Id"`
		RepoTags []string
		Config   struct{ Labels map[string]string }
	}
	if err := json.Unmarshal(out, &raw); err != nil || len(raw) == 0 {
		return Image{}, fmt.Errorf("%s image inspect %s: unexpected output: %.80q", r.name, name, out)
	}
	return Image{ID: raw[0].ID, Labels: raw[0].Config.Labels, Tags: raw[0].RepoTags}, nil
}

// Pull fetches an image from its registry and copies the runtime's output to said.
func (r *Runtime) Pull(ctx context.Context, name string, said io.Writer) error {
	err := r.Do(ctx, Call{Args: []string{"pull", name}, Stdout: said})
	if coded.Is(err, Failed) {
		return coded.New(ImageMissing, "", err, "image %s is not on this host and cannot be pulled", name)
	}
	return err
}

// Script runs a shell script as root in a temporary container of an image, without a network, with a directory of this
// host mounted at the same path; args are its $1 and so on.
func (r *Runtime) Script(ctx context.Context, image, label, dir, script string, args ...string) error {
	// Privileged like nodes, or SELinux would deny access to the nodes' files.
	argv := []string{"run", "--rm", "--network", "none", "--label", label, "--privileged", "--user", "0", "--volume", dir + ":" + dir, "--entrypoint", "sh", image, "-c", script, "sh"}
	return r.run(ctx, append(argv, args...)...)
}

// Read returns a file of an image. It runs cat in a temporary container, without a network.
func (r *Runtime) Read(ctx context.Context, image, label, file string) (string, error) {
	out, err := r.Output(ctx, "run", "--rm", "--network", "none", "--label", label, "--entrypoint", "cat", image, file)
	return strings.TrimSpace(string(out)), err
}
