package e2e

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A chart of the kind that people install comes up, is looked into, loses a VM and moves with its data: with kubectl alone, as its
// users type it.
func TestChart(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("chart", "zones-us-eu", "--csi", "builtin")
	s.Run("kubectl", "apply", "-f", s.shipped("test/e2e/testdata/chart.yaml"))
	s.Run("kubectl", "rollout", "status", "statefulset/shop", "--timeout=90s")
	s.Run("kubectl", "create", "job", "now", "--from=cronjob/report")
	s.Run("kubectl", "wait", "job/now", "--for=condition=Complete", "--timeout=60s")
	if out := s.Run("kubectl", "logs", "job/now"); !strings.HasPrefix(out, "reported at ") {
		t.Errorf("the log of the Job: %q", out)
	}
	first := s.kubectlJSON("pod", "shop-0", "{.spec.nodeName}")
	for _, part := range []struct {
		name string
		do   func(t *testing.T, s *sandbox)
	}{
		{"Top", topOfChart},
		{"Copy", copyFiles},
		{"Attach", attachToPod},
		{"Terminal", execInTerminal},
		{"PortForward", forwardPorts},
		{"Previous", previousLog},
		{"Full", fillVolume},
		{"Policy", behaveByPolicy},
	} {
		t.Run(part.name, func(t *testing.T) { part.do(t, &sandbox{&home{s.Home.In(t)}, s.Sandbox}) })
	}

	was := s.Run("kubectl", "exec", "shop-0", "-c", "shop", "--", "cat", "/data/log")
	s.vm("power-off", first)
	s.Run("wait", "--for=node/"+first+"=NotReady", "--timeout", "60s")
	s.Run("kubectl", "taint", "node", first, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
	s.Await("the pod runs on another node", 2*time.Minute, func() bool {
		node := s.kubectlJSON("pods", "-lapp.kubernetes.io/name=shop", `{.items[?(@.metadata.name=="shop-0")].spec.nodeName}`)
		return node != "" && node != first
	})
	s.Run("kubectl", "rollout", "status", "statefulset/shop", "--timeout=90s")
	second := s.kubectlJSON("pod", "shop-0", "{.spec.nodeName}")
	if got := s.Run("kubectl", "exec", "shop-0", "-c", "shop", "--", "cat", "/data/log"); got != was+"hello from "+second+"\n" {
		t.Errorf("the volume has %q on %s, had %q on %s", got, second, was, first)
	}

	// By now it is the minute of the CronJob, or soon.
	s.Await("the CronJob has run", 90*time.Second, func() bool {
		return strings.Contains(s.Run("kubectl", "get", "jobs", "-o", `jsonpath={.items[?(@.metadata.annotations.batch\.kubernetes\.io/cronjob-scheduled-timestamp)].status.succeeded}`), "1")
	})
}

// topOfChart reads the use that a behavior declares.
func topOfChart(t *testing.T, s *sandbox) {
	s.Await("kubectl top has the pod", 30*time.Second, func() bool {
		r := s.Try("--name", s.Name, "kubectl", "top", "pod", "shop-0", "--containers", "--no-headers")
		return regexp.MustCompile(`web +50m +32Mi`).MatchString(r.Out)
	})
	if out := s.Run("kubectl", "top", "nodes", "--no-headers"); strings.Count(out, "\n") != 6 || strings.Contains(out, "unknown") {
		t.Errorf("kubectl top nodes:\n%s", out)
	}
}

// copyFiles copies a file and a folder to a pod, and back.
func copyFiles(t *testing.T, s *sandbox) {
	s.Run("kubectl", "cp", "-c", "shop", s.File("greeting", "hello\n"), "shop-0:/data/greeting")
	s.Run("kubectl", "exec", "shop-0", "-c", "shop", "--", "sh", "-c", "mkdir -p /data/from/deep; mv /data/greeting /data/from/deep/; echo up > /data/from/up")
	folder := filepath.Join(s.Tmp, "from")
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	s.Run("kubectl", "cp", "-c", "shop", "shop-0:/data/from", folder)
	if text, err := os.ReadFile(filepath.Join(folder, "deep", "greeting")); string(text) != "hello\n" {
		t.Errorf("copied from the pod: %q, %v", text, err)
	}
	s.Run("kubectl", "cp", "-c", "shop", folder, "shop-0:/data/to")
	if out := s.Run("kubectl", "exec", "shop-0", "-c", "shop", "--", "sh", "-c", "cat /data/to/up /data/to/deep/greeting"); out != "up\nhello\n" {
		t.Errorf("copied to the pod: %q", out)
	}
}

// attachToPod types into a container that reads.
func attachToPod(t *testing.T, s *sandbox) {
	c := s.Cmd("--name", s.Name, "kubectl", "run", "asks", "--image=busybox", "--restart=Never", "--stdin", "--quiet", "--", "sh", "-c", "while read line; do echo got $line; done")
	c.Stdin = strings.NewReader("one\ntwo\n")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("kubectl run --stdin: %v: %s", err, out)
	}
	if !strings.Contains(string(out), "got two\n") {
		t.Errorf("kubectl run --stdin: %q", out)
	}
	if log := s.Run("kubectl", "logs", "asks"); log != "got one\ngot two\n" {
		t.Errorf("its log: %q", log)
	}

	s.Run("kubectl", "run", "ticks", "--image=busybox", "--restart=Never", "--", "sh", "-c", "while sleep 0.2; do echo tick; done")
	s.Run("kubectl", "wait", "pod/ticks", "--for=condition=Ready", "--timeout=30s")
	lines := s.start("kubectl", "attach", "ticks")
	for line := range lines {
		if line == "tick" {
			return
		}
	}
	t.Error("kubectl attach ended without a line of the container")
}

// start starts a command that runs until the end of the test, and returns the lines of its output.
func (s *sandbox) start(args ...string) <-chan string {
	s.T.Helper()
	c := s.Cmd(append([]string{"--name", s.Name}, args...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	if err := c.Start(); err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			select {
			case lines <- in.Text():
			case <-s.T.Context().Done():
				return
			}
		}
	}()
	return lines
}

// execInTerminal works in a shell as a user does.
func execInTerminal(_ *testing.T, s *sandbox) {
	term := s.openTerminal(80, 24, "--name", s.Name, "kubectl", "exec", "-it", "shop-0", "-c", "shop", "--", "sh")
	term.await("a prompt", bound, shows("#"))
	term.typed("cd /data; echo $((6*7)) in $PWD")
	term.press("Enter")
	term.await("the answer", bound, shows("42 in /data"))
	term.typed("exit 3")
	term.press("Enter")
	term.await("the end", bound, shows("exit status 3"))
}

// forwardPorts reaches a port that a behavior declares, by its pod and by its Service; no other answers.
func forwardPorts(t *testing.T, s *sandbox) {
	for _, to := range [][]string{{"pod/shop-0", ":8080"}, {"svc/shop", ":80"}} {
		lines := s.start("kubectl", "port-forward", to[0], to[1])
		_, address, ok := strings.Cut(<-lines, "Forwarding from ")
		if !ok {
			t.Fatalf("kubectl port-forward %s: it prints no address", to[0])
		}
		address, _, _ = strings.Cut(address, " ")
		resp, err := http.Get("http://" + address + "/hello")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "GET /hello\npod: default/shop-") {
			t.Errorf("%s: %d %q %v", to[0], resp.StatusCode, body, err)
		}
	}
}

// previousLog reads what a container wrote before it was restarted.
func previousLog(t *testing.T, s *sandbox) {
	s.Run("kubectl", "run", "again", "--image=busybox", "--", "sh", "-c", `echo "start of $(date +%s%N)"; sleep 1; exit 1`)
	s.Await("it was restarted", bound, func() bool {
		return s.kubectlJSON("pod", "again", "{.status.containerStatuses[0].restartCount}") >= "1"
	})
	before := s.Run("kubectl", "logs", "again", "--previous")
	if !strings.HasPrefix(before, "start of ") || strings.Count(before, "\n") != 1 || before >= s.Run("kubectl", "logs", "again") {
		t.Errorf("the log of the container before: %q", before)
	}
	s.Run("kubectl", "delete", "pod", "again", "--now")
}

// fillVolume writes more than a volume has room for.
func fillVolume(t *testing.T, s *sandbox) {
	exec := []string{"--name", s.Name, "kubectl", "exec", "shop-1", "-c", "shop", "--", "sh", "-c"}
	r := s.Try(append(exec, "dd if=/dev/zero of=/data/full bs=1M")...)
	if r.Code != 1 || !strings.Contains(r.Err, "dd: /data/full: No space left on device") {
		t.Errorf("dd past the end of the volume: exit %d\n%s", r.Code, r.Both())
	}
	if r := s.Try(append(exec, "echo more > /data/more")...); r.Code != 1 || !strings.Contains(r.Err, "No space left on device") {
		t.Errorf("echo into a full volume: exit %d\n%s", r.Code, r.Both())
	}
	if r := s.Try(append(exec, "rm /data/full; echo more > /data/more; cat /data/more")...); r.Out != "more\n" {
		t.Errorf("after rm: exit %d\n%s", r.Code, r.Both())
	}
}

// behaveByPolicy gives a behavior to pods by their labels.
func behaveByPolicy(t *testing.T, s *sandbox) {
	s.Run("kubectl", "apply", "-f", s.shipped("docs/examples/behavior.yaml"))
	s.Await("a new pod has the behavior", bound, func() bool { // a policy takes effect a little later
		s.Run("kubectl", "delete", "pod", "web", "--ignore-not-found", "--now")
		s.Run("kubectl", "run", "web", "--image=nginx", "--labels=app=web")
		return strings.Contains(s.kubectlJSON("pod", "web", "{.metadata.annotations}"), "readyAfter")
	})
	s.Run("kubectl", "run", "other", "--image=nginx", "--labels=app=other", `--annotations=sandbox.vsphere/behavior={readyAftre: 20s}`)
	s.Await("a wrong field is refused", bound, func() bool {
		return strings.Contains(s.kubectlJSON("pod", "other", "{.status.containerStatuses[0].state.waiting}"), `unknown field \"readyAftre\": did you mean \"readyAfter\"?`)
	})
	s.Run("kubectl", "delete", "pod", "web", "other", "--now")
}
