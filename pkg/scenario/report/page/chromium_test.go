package page

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/sample"
)

// browser is a headless Chromium that is talked to through a pipe.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	last    int
	session string
	// complaints are what the page's console has of errors and warnings.
	complaints []string
}

// start starts one, or skips the test.
func start(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium on this machine to show the page with")
	}
	toRead, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// It is asked to end: one that is killed, as the end of the test's context would, leaves children that still write.
	ctx, kill := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	cmd := exec.CommandContext(ctx, path,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "--window-size=1280,1000", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.ExtraFiles = []*os.File{toRead, fromWrite}
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		kill()
		t.Fatal(err)
	}
	toRead.Close()
	fromWrite.Close()
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		_, _ = to.WriteString(`{"id":0,"method":"Browser.close"}` + "\x00") // it may have ended
		_ = cmd.Wait()                                                      // how, is its own business
		kill()
		to.Close()
		from.Close()
	})
	if err := from.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})
	b.session = b.call("Target.attachToTarget", map[string]any{"targetId": target["targetId"], "flatten": true})["sessionId"].(string)
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil)
	}
	return b
}

// call asks for something and waits for the answer.
func (b *browser) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.last++
	m := map[string]any{"id": b.last, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		answer := b.read()
		if id, ok := answer["id"].(float64); ok && int(id) == b.last {
			if e := answer["error"]; e != nil {
				b.t.Fatalf("%s: %v", method, e)
			}
			result, _ := answer["result"].(map[string]any)
			return result
		}
	}
}

// read takes the next message and notes it when it is a complaint.
func (b *browser) read() map[string]any {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("chromium: %v", err)
	}
	var m map[string]any
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		b.t.Fatal(err)
	}
	switch m["method"] {
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded":
		b.complaints = append(b.complaints, fmt.Sprint(m["params"]))
	}
	return m
}

// open shows a file.
func (b *browser) open(path string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": "file://" + path})
	for b.read()["method"] != "Page.loadEventFired" {
	}
}

// eval evaluates an expression in the page.
func (b *browser) eval(js string) string {
	b.t.Helper()
	r := b.call("Runtime.evaluate", map[string]any{"expression": "String(" + js + ")", "returnByValue": true})
	if e := r["exceptionDetails"]; e != nil {
		b.t.Fatalf("%s: %v", js, e)
	}
	return r["result"].(map[string]any)["value"].(string)
}

// picture saves what is seen where SAMPLE_PICTURES says.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("SAMPLE_PICTURES")
	if dir == "" {
		return
	}
	data, err := base64.StdEncoding.DecodeString(b.call("Page.captureScreenshot", nil)["data"].(string))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func TestInChromium(t *testing.T) {
	b := start(t)
	page := write(t, sample.Suite())
	path := filepath.Join(t.TempDir(), "report.html")
	save := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b.open(path)
	}
	save(page)
	if got := b.eval("document.documentElement.className"); got != "js" {
		t.Errorf("the script did not run: %q", got)
	}
	if got := b.eval("document.documentElement.scrollWidth <= innerWidth"); got != "true" {
		t.Error("the page is wider than the window")
	}
	const chart = "document.querySelector('#s2 .chart')"
	b.eval(chart + ".scrollIntoView()")
	b.picture("timeline")

	// Pointing at an event shows what it is, and its causes and effects.
	const mark = chart + ".querySelector('.mark[data-seq=\"106\"]')"
	b.eval(mark + ".dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))")
	if got := b.eval("document.getElementById('tip').textContent"); !strings.Contains(got, "ccm.vcenter-unreachable") || !strings.Contains(got, "606 ms after #101 gate.down, 2 effects") {
		t.Errorf("the tip says %q", got)
	}
	if got := b.eval("[..." + chart + ".querySelectorAll('.mark.on')].map(m => m.dataset.seq).sort()"); got != "100,101,106,110,111,112,113" {
		t.Errorf("lit are %s", got)
	}
	b.picture("focus")
	b.eval(mark + ".dispatchEvent(new PointerEvent('pointerout', {bubbles: true}))")
	if got := b.eval("document.getElementById('tip').hidden"); got != "true" {
		t.Error("the tip stays")
	}

	// A group that is taken away goes with its curves, and the rest moves up.
	before := b.eval(chart + ".getAttribute('viewBox')")
	b.eval("document.querySelector('#s2 [data-group=kubernetes][type=checkbox]').click()")
	if got := b.eval(chart + ".querySelectorAll('.marks.kubernetes:not(.off), .link[data-to=\"112\"]:not(.off)').length"); got != "0" {
		t.Errorf("%s of the group are left", got)
	}
	if after := b.eval(chart + ".getAttribute('viewBox')"); after == before {
		t.Error("the chart is as high as before")
	}
	b.picture("filtered")
	b.eval("document.querySelector('#s2 [data-group=kubernetes][type=checkbox]').click()")
	if after := b.eval(chart + ".getAttribute('viewBox')"); after != before {
		t.Errorf("the chart is %s, was %s", after, before)
	}

	// A latency leads to the event that decided the step.
	b.eval("document.querySelector('#s2 .jump[data-seq=\"112\"]').click()")
	if got := b.eval(chart + ".querySelector('.mark.at').dataset.seq"); got != "112" {
		t.Errorf("the step led to %s", got)
	}
	b.eval("location.hash = '#s1'")
	b.eval("window.dispatchEvent(new Event('hashchange'))")
	if got := b.eval("document.getElementById('s1').open"); got != "true" {
		t.Error("the link did not open its scenario")
	}
	if len(b.complaints) > 0 {
		t.Errorf("the console says %s", strings.Join(b.complaints, "\n"))
	}

	// The policy is in force, and this test would see it.
	save(strings.Replace(page, "</main>", `<script>document.title = "broken"</script></main>`, 1))
	if len(b.complaints) == 0 || b.eval("document.title") == "broken" {
		t.Error("a foreign script was run, or nobody complained")
	}
}
