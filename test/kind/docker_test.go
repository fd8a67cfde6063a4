package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// daemon is the Docker that the tests work with: one of our own, or with an address one that is there.
type daemon struct {
	dir, address string

	process *exec.Cmd
	ended   chan error
	log     *os.File
}

func (d *daemon) own() bool { return d.address == "" }

// host is what DOCKER_HOST has to be.
func (d *daemon) host() string {
	if d.own() {
		return "unix://" + filepath.Join(d.dir, "docker", "docker.sock")
	}
	return d.address
}

// start starts it, and returns when it answers.
func (d *daemon) start() (err error) {
	if !d.own() {
		_, err := docker("version")
		return err
	}
	if d.log == nil {
		if d.log, err = os.Create(filepath.Join(d.dir, "dockerd.log")); err != nil {
			return err
		}
	}
	d.process = exec.Command(filepath.Join("..", "..", "hack", "kind-node", "dockerd"), filepath.Join(d.dir, "docker"))
	d.process.Stdout, d.process.Stderr = d.log, d.log
	d.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is not for it: it is needed for removing
	if err := d.process.Start(); err != nil {
		return err
	}
	d.ended = make(chan error, 1)
	go func() { d.ended <- d.process.Wait() }()
	deadline := time.After(time.Minute)
	for {
		_, err := docker("version")
		if err == nil {
			return nil
		}
		select {
		case <-d.ended:
			d.process = nil
			return fmt.Errorf("dockerd ended:\n%s", d.words())
		case <-deadline:
			return fmt.Errorf("dockerd does not answer: %w\n%s", err, d.words())
		case <-time.After(100 * time.Millisecond): // the socket must be polled
		}
	}
}

// stop ends it, and returns when it has.
func (d *daemon) stop() error {
	if d.process == nil {
		return nil
	}
	if err := d.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-d.ended:
		d.process = nil
		if err != nil {
			return fmt.Errorf("dockerd: %w\n%s", err, d.words())
		}
		return nil
	case <-time.After(time.Minute):
		return errors.Join(fmt.Errorf("dockerd does not end:\n%s", d.words()), d.kill())
	}
}

// kill ends a daemon that does not end when it is asked to. The script that has started it puts the packet filter back then.
func (d *daemon) kill() error {
	text, err := os.ReadFile(filepath.Join(d.dir, "docker", "dockerd.pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("dockerd, process %d: %w", pid, err)
	}
	select {
	case <-d.ended:
		d.process = nil
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("dockerd, process %d: killed, and what has started it goes on", pid)
	}
}

// remove ends it and removes its folder.
func (d *daemon) remove() error {
	err := d.stop()
	if d.log != nil {
		err = errors.Join(err, d.log.Close())
	}
	if err != nil {
		return err // its folder is in use, or the error has the reason
	}
	return os.RemoveAll(d.dir)
}

// words are its last.
func (d *daemon) words() string {
	text, err := os.ReadFile(d.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// docker asks the daemon for something.
func docker(args ...string) (string, error) { return dockerWith(nil, args...) }

// dockerWith gives it an input.
func dockerWith(in *os.File, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "docker", args...)
	c.Env = append(os.Environ(), "DOCKER_HOST="+engine.host())
	if in != nil {
		c.Stdin = in
	}
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}
