package secret

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// fdVariable names the descriptor on which a process gets the variables that its environment leaves out.
const fdVariable = "VSPHERE_SANDBOX_SECRETS_FD"

// variables are those in which users give passwords to this program, to govc and to providers.
func variables() []string {
	return []string{"GOVC_PASSWORD", "VSPHERE_PASSWORD", "VCENTER_PASSWORD", "VSPHERE_SANDBOX_PASSWORD"}
}

// urls are variables with a URL, in which user and password may stand.
func urls() []string { return []string{"GOVC_URL", "VSPHERE_SERVER", "VCENTER_URL"} }

// Variables returns the secrets in the variables that getenv, os.Getenv or its like, knows.
func Variables(getenv func(string) string) []string {
	var all []string
	for _, name := range variables() {
		if v := getenv(name); v != "" {
			all = append(all, v)
		}
	}
	for _, name := range urls() {
		if p := passwordIn(getenv(name)); p != "" {
			all = append(all, p)
		}
	}
	return all
}

func passwordIn(text string) string {
	if !strings.Contains(text, "://") {
		text = "https://" + text // as govc takes it
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	p, _ := u.User.Password()
	return p
}

// Split parts an environment: what a process may have in its own, which every process of the user can read for as long as
// it runs, and what holds a secret.
func Split(environ []string) (open, secrets []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		getenv := func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		}
		switch {
		case name == fdVariable:
		case len(Variables(getenv)) > 0:
			secrets = append(secrets, v)
		default:
			open = append(open, v)
		}
	}
	return open, secrets
}

// Hand returns a file from which [Inherit] takes the variables in a process that gets it as descriptor fd, and the variable
// that says so. The caller closes the file once the process has started.
func Hand(secrets []string, fd int) (file *os.File, variable string, err error) {
	text, err := json.Marshal(secrets)
	if err != nil {
		return nil, "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	const room = 64 << 10 // of a pipe: more would wait for a reader that does not run yet
	if len(text) > room {
		err = fmt.Errorf("variables with secrets: %d bytes, at most %d", len(text), room)
	} else {
		_, err = w.Write(text)
	}
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return nil, "", err
	}
	return r, fdVariable + "=" + strconv.Itoa(fd), nil
}

// Inherit sets the variables that were handed to this process, which then finds them as if they were in its environment.
// Without any it does nothing. A process calls it once, before it reads its environment.
func Inherit() error {
	fd, err := strconv.Atoi(os.Getenv(fdVariable))
	if err != nil {
		return nil
	}
	if err := os.Unsetenv(fdVariable); err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "secrets")
	if f == nil {
		return fmt.Errorf("%s=%d: no such descriptor", fdVariable, fd)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	var secrets []string
	if err == nil {
		err = json.Unmarshal(text, &secrets)
	}
	if err != nil {
		return fmt.Errorf("%s=%d: %w", fdVariable, fd, err)
	}
	for _, v := range secrets {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}
