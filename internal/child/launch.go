package child

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
)

// launch starts one process. Awake says that a wish to be suspended ends here.
func (c *Child) launch(awake bool) (*process, error) {
	path := c.spec.Path
	if path == "" {
		self, err := self()
		if err != nil {
			return nil, err
		}
		path = self
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("lifeline: %w", err)
	}
	defer read.Close()
	cmd := c.command(path, read)

	p := &process{cmd: cmd, lifeline: write, logPath: c.spec.LogPath, alive: true, gone: make(chan struct{})}
	if c.spec.LogPath != "" {
		log, size, err := openLog(c.spec.LogPath, c.spec.LogLimit)
		if err != nil {
			_ = write.Close()
			return nil, err
		}
		defer log.Close()
		cmd.Stdout, cmd.Stderr, p.logStart = log, log, size
	}
	if err := spawn.start(cmd); err != nil {
		_ = write.Close()
		return nil, err
	}
	p.pid = cmd.Process.Pid
	c.adopt(p, awake)
	go p.watch()
	return p, nil
}

func (c *Child) command(path string, lifeline *os.File) *exec.Cmd {
	env := c.spec.Env
	if env == nil {
		env, _ = secret.Split(os.Environ())
	}
	files := append([]*os.File(nil), c.spec.Files...)
	fd := 3 + len(files)
	return &exec.Cmd{
		Path:        path,
		Args:        append([]string{path}, c.spec.Args...),
		Env:         append(append([]string(nil), env...), LifelineEnv+"="+strconv.Itoa(fd)),
		Dir:         c.spec.Dir,
		ExtraFiles:  append(files, lifeline),
		SysProcAttr: procAttr(),
	}
}

// adopt makes p the child's process.
func (c *Child) adopt(p *process, awake bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process = p
	if !c.first {
		c.restarts++
	}
	c.first = false
	if awake {
		c.suspended = false
	}
	if c.suspended {
		// It cannot fail but for p having died already.
		_ = p.signalGroup(unix.SIGSTOP)
	}
}
