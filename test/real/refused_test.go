package real

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// fingerprint is the SHA-256 of the certificate that it shows, as openssl prints it.
func (s *standIn) fingerprint() string {
	s.t.Helper()
	c, err := tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	sum := sha256.Sum256(c.ConnectionState().PeerCertificates[0].Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// commands are those that go to a real vCenter, with what they need beside it.
func commands(conf string) [][]string {
	return [][]string{
		{"record", "--vcenter-config", conf, "-f", "out.yaml"},
		{"up", "--vcenter-config", conf, "--csi", "off"},
	}
}

// What cannot be is refused in clear words, by every command that goes there, and leaves nothing: no sandbox, no file.
func TestRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		powerless := stock(t).at("127.0.0.1:1", s.ca) // without a listener
		for _, tc := range []struct {
			name string
			conf string
			code int
			says []string
		}{
			{"wrong password", s.as(account{s.User, "wrong"}).config(h), 1, []string{"wrong user name or password", s.User, "try: "}},
			{"unknown authority", s.at(s.address, "").config(h), 1, []string{"not trusted", s.fingerprint(), "caFile", "thumbprint", "try: "}},
			{"nobody there", powerless.config(h), 1, []string{"connection refused", "127.0.0.1:1", "try: "}},
		} {
			for _, args := range commands(tc.conf) {
				t.Run(tc.name+", "+args[0], func(t *testing.T) {
					h := *h
					h.T = t
					h.refused(tc.code, tc.says, args...)
					h.noFile("out.yaml")
				})
			}
		}
	})
}

// noFile fails the test where a file is, or part of one beside its place.
func (h *home) noFile(name string) {
	h.T.Helper()
	for _, pattern := range []string{name, "." + name + "*"} {
		if found, _ := filepath.Glob(filepath.Join(h.Tmp, pattern)); len(found) > 0 {
			h.T.Errorf("there is %v", found)
		}
	}
}

// The flags, and what is not there: refused before, or as soon as, anybody can know.
func TestBadFlags(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		conf := s.config(h)
		for _, tc := range []struct {
			args string
			code int
			says []string
		}{
			{"record", 2, []string{"GOVC_URL", "--vcenter-config"}},
			{"record --vcenter-config nowhere.conf", 2, []string{"nowhere.conf", "no such file"}},
			{"record --vcenter-config CONF --folder k9s", 1, []string{`folder "k9s"`, `did you mean "k8s"`}},
			{"record --vcenter-config CONF --datacenter DC1", 1, []string{`datacenter "DC1"`, `did you mean "DC0"`}},
			{"record --vcenter-config CONF --tag blue", 2, []string{`tag "blue"`, "category:name"}},
			{"record --vcenter-config CONF --vm [", 2, []string{`name pattern "["`}},
			{"record --vcenter-config CONF --vm nobody-*", 1, []string{"no VM is chosen"}},
			{"record --vcenter-config CONF --nodes [", 2, []string{"--nodes"}},
			{"record --vcenter-config CONF --name-of-topology Prod", 2, []string{"--name-of-topology"}},
			{"record --vcenter-config CONF --pseudonyms map.json", 2, []string{"--anonymise"}},
			{"record --vcenter-config CONF -f CONF", 2, []string{"already exists", "--force"}},
			{"record --vcenter-config CONF -f /nonexistent/out.yaml", 4, []string{"/nonexistent"}},
			{"doctor --folder k8s", 2, []string{"--vcenter-config"}},
			{"doctor --vcenter-config CONF --fix", 2, []string{"--fix"}},
			{"doctor --context prod", 2, []string{"--vcenter-config"}},
			{"doctor --vcenter-config CONF --kubeconfig nowhere", 2, []string{"kubeconfig", "nowhere"}},
			{"up --vcenter-config CONF --allow-writes", 2, []string{"--write-folder", "--write-tag"}},
			{"up --vcenter-config CONF --write-folder /DC0/vm/k8s", 2, []string{"--allow-writes"}},
			{"up --vcenter-config CONF --allow-writes --write-folder k8s", 2, []string{"--write-folder", "/"}},
			{"up --vcenter-config CONF --allow-writes --write-tag blue", 2, []string{`tag "blue"`}},
			{"up --folder k8s", 2, []string{"--vcenter-config"}},
			{"up zones-us-eu --vcenter-config CONF", 2, []string{"--vcenter-config"}},
		} {
			h.refused(tc.code, append(tc.says, "error: "), strings.Fields(strings.ReplaceAll(tc.args, "CONF", conf))...)
		}
		h.noFile("out.yaml")
	})
}

// An account without any permission sees nothing, and gets that message.
func TestNoPermission(t *testing.T) {
	t.Parallel()
	s, h := permitted(t), newHome(t)
	s = s.as(account{"stranger@vsphere.local", "secret of the stranger"})
	conf := s.config(h)
	for _, args := range commands(conf) {
		h.refused(1, []string{"error: ", "try: "}, args...)
	}
	h.noFile("out.yaml")
	r, bad, _ := h.doctor("--vcenter-config", conf)
	if r.Code != 4 && len(bad) == 0 {
		t.Errorf("doctor finds nothing:\n%s", r.Both())
	}
}

// A vCenter that takes half a minute for each answer is slow, not dead; what is waited for is said.
func TestSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a minute; left out by -short")
	}
	t.Parallel()
	s, h := furnished(t), newHome(t)
	p := newProxy(t, s)
	var read atomic.Bool
	p.set(func(p *proxy) {
		p.delay = func(method string) time.Duration {
			if method == "Login" || method == "RetrievePropertiesEx" && !read.Swap(true) { // the first alone, or it takes ten minutes
				return 30 * time.Second
			}
			return 0
		}
	})
	c := h.Cmd("record", "--vcenter-config", p.config(h), "--folder", "k8s", "-f", "slow.yaml")
	r := program.Finish(t, c, 10*time.Minute)
	if r.Code != 0 || !strings.Contains(r.Err, "  … vcenter \"far\": ") {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
}

// A sandbox comes up at such a vCenter, too, and its cloud controller manager logs in. What is read first, which is a call for
// everything, is left out: TestSlow is about that.
func TestSlowUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some minutes; left out by -short")
	}
	t.Parallel()
	s, h := furnished(t), newHome(t)
	p := newProxy(t, s)
	var read atomic.Bool
	p.set(func(p *proxy) {
		p.delay = func(method string) time.Duration {
			switch method {
			case "DestroyView":
				read.Store(true) // what comes now is the sandbox
			case "RetrieveServiceContent", "Login", "CreateContainerView", "CreateFilter":
				if read.Load() {
					return 30 * time.Second
				}
			}
			return 0
		}
	})
	c := h.Cmd("--name", "slow", "up", "--detach", "--csi", "off", "--vcenter-config", p.config(h), "--folder", "k8s")
	if r := program.Finish(t, c, 15*time.Minute); r.Code != 0 {
		t.Fatalf("exit status %d\n%s", r.Code, r.Both())
	}
	for _, n := range h.Attach("slow").Nodes() {
		if !well(n) {
			t.Errorf("%+v", n)
		}
	}
	h.Must("--name", "slow", "down")
	h.nothingLeft()
}

// Ctrl-C while a vCenter does not answer is answered at once, and leaves no file and no half of one.
func TestInterrupted(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h, p := newHome(t), newProxy(t, s)
		p.set(func(p *proxy) {
			p.hold = func(method string) bool { return method == "RetrievePropertiesEx" || method == "DestroyView" }
		})
		for _, args := range [][]string{
			{"record", "--vcenter-config", p.config(h), "-f", "out.yaml"},
			{"doctor", "--vcenter-config", p.config(h)},
			{"--name", "cut", "up", "--vcenter-config", p.config(h), "--csi", "off"},
		} {
			c := h.Cmd(args...)
			go func() {
				<-p.held
				_ = c.Process.Signal(syscall.SIGINT)
			}()
			begin := time.Now()
			if r := program.Finish(t, c, time.Minute); r.Code != 130 || r.Out != "" {
				t.Errorf("%v: exit status %d\n%s", args, r.Code, r.Both())
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("%v: took %v", args, took)
			}
			h.noFile("out.yaml")
			h.nothingLeft()
		}
	})
}
