package fault_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func TestInjectAndHeal(t *testing.T) {
	l := start(t, "a", "b", "c")
	planned, err := l.Plan(t.Context(), fault.Request{Kind: "lamp.out", On: on("a")})
	if err != nil || planned.ID != "" || planned.Targets[0].Effect != "put out (shines)" || planned.Seed == 0 || l.shining() != "a b c" {
		t.Fatalf("plan: %+v, %v; %s shine", planned, err, l.shining())
	}
	lease := l.inject(t, fault.Request{Kind: "lamp.out", On: on("a"), Cause: l.log.Append(eventOf("command"))})
	if lease.ID != "f1" || lease.State != fault.Active || lease.Targets[0].State != fault.Active || l.shining() != "b c" || lease.Params.Duration("delay") != time.Second {
		t.Errorf("lease %+v; %s shine", lease, l.shining())
	}
	for _, note := range []string{"", "was healed already"} {
		healed, err := l.Heal(t.Context(), "f1")
		if err != nil || healed[0].State != fault.Healed || healed[0].Note != note || healed[0].Ended.IsZero() || l.shining() != "a b c" {
			t.Errorf("healed %+v, %v; %s shine", healed, err, l.shining())
		}
	}
	if _, err := l.Heal(t.Context(), "f1", "f2"); true {
		requireRefusal(t, err, "not-found", `"f2"`)
	}
	l.requireEvents(t,
		"1<0 command : ",
		"2<1 fault.injected a: f1: lamp.out on vc/a",
		"3<2 fault.healed a: f1: lamp.out on vc/a",
	)
	if got := l.changes.states("f1"); got != "applying active healing healed" {
		t.Errorf("it was told %s", got)
	}
	if got := strings.Join(l.calls, ", "); got != "out a, light a" {
		t.Errorf("calls: %s", got)
	}
}

func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, "a", "b")
		lease := l.inject(t, fault.Request{Kind: "lamp.out", On: on("*"), For: time.Minute})
		if want := time.Now().Add(time.Minute); !lease.Until.Equal(want) {
			t.Errorf("until %s, want %s", lease.Until, want)
		}
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if l.shining() != "" {
			t.Errorf("too soon, %s shine", l.shining())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if l.shining() != "a b" || l.Leases()[0].State != fault.Healed {
			t.Errorf("%s shine, lease %+v", l.shining(), l.Leases())
		}
		l.requireEvents(t,
			"1<0 fault.injected f1: f1: lamp.out on vc/a, vc/b for 1m0s",
			"2<1 fault.expired f1: f1: lamp.out on vc/a, vc/b",
			"3<2 fault.healed f1: f1: lamp.out on vc/a, vc/b",
		)
		// Healed by hand, it does not end again.
		l.inject(t, fault.Request{Kind: "lamp.out", On: on("a"), For: time.Minute})
		if _, err := l.Heal(t.Context(), "f2"); err != nil {
			t.Error(err)
		}
		before := l.log.Last()
		time.Sleep(time.Hour)
		synctest.Wait()
		if l.log.Last() != before {
			t.Error("something happened to a healed lease")
		}
	})
}

func TestRefusedAsAWhole(t *testing.T) {
	l := start(t, "a", "b", "c")
	l.inject(t, fault.Request{Kind: "lamp.cold", On: on("b")})
	_, err := l.Inject(t.Context(), fault.Request{Kind: "lamp.out", On: on("a", "b", "c")})
	requireRefusal(t, err, "conflict", `VM "vc/b": is dark already`)
	if l.shining() != "a c" || len(l.Leases()) != 1 {
		t.Errorf("%s shine, leases %+v", l.shining(), l.Leases())
	}
	if lease := l.inject(t, fault.Request{Kind: "lamp.out", On: on("a")}); lease.ID != "f2" {
		t.Errorf("after a refusal: %s", lease.ID)
	}
}

func TestOverlap(t *testing.T) {
	l := start(t, "a", "b")
	l.inject(t, fault.Request{Kind: "lamp.out", On: on("a")})
	for _, kind := range []string{"lamp.out", "lamp.blink", "lamp.flash"} {
		_, err := l.Inject(t.Context(), fault.Request{Kind: kind, On: on("a", "b")})
		requireRefusal(t, err, "conflict", `"vc/a"`, "f1 (lamp.out)", "light", "fault heal f1")
		_, err = l.Plan(t.Context(), fault.Request{Kind: kind, On: on("a")})
		requireRefusal(t, err, "conflict", "f1")
	}
	l.inject(t, fault.Request{Kind: "lamp.blink", On: on("b")})
	l.light("a")
	l.inject(t, fault.Request{Kind: "lamp.cold", On: on("a")}) // touches nothing that excludes
	if _, err := l.Heal(t.Context(), "f1"); err != nil {
		t.Error(err)
	}
	l.light("a")
	l.inject(t, fault.Request{Kind: "lamp.out", On: on("a")})
}

// The same is the same, whichever way it is reached.
func TestOverlapOfAComponent(t *testing.T) {
	l := start(t, "a", "b")
	l.inject(t, fault.Request{Kind: "lamp.out", On: on("a")})
	_, err := l.Inject(t.Context(), fault.Request{Kind: "lamp.unplugged", On: on("a.example")})
	requireRefusal(t, err, "conflict", `node "vc/a.example"`, "f1 (lamp.out)", "light")
	l.inject(t, fault.Request{Kind: "lamp.unplugged", On: on("b.example")})
	_, err = l.Inject(t.Context(), fault.Request{Kind: "lamp.out", On: on("b")})
	requireRefusal(t, err, "conflict", `VM "vc/b"`, "f2 (lamp.unplugged)")
	if len(l.Leases()) != 2 {
		t.Errorf("leases %+v", l.Leases())
	}
}

// What takes a lamp away goes with nothing else that is done to it.
func TestOverlapOfTheWhole(t *testing.T) {
	l := start(t, "a", "b")
	l.inject(t, fault.Request{Kind: "lamp.painted", On: on("a")})
	l.inject(t, fault.Request{Kind: "lamp.stolen", On: on("b")})
	_, err := l.Inject(t.Context(), fault.Request{Kind: "lamp.stolen", On: on("a")})
	requireRefusal(t, err, "conflict", `VM "vc/a"`, "f1 (lamp.painted)", "color")
	_, err = l.Inject(t.Context(), fault.Request{Kind: "lamp.painted", On: on("b")})
	requireRefusal(t, err, "conflict", `VM "vc/b"`, "f2 (lamp.stolen)", "place")
	l.light("b")
	l.inject(t, fault.Request{Kind: "lamp.unplugged", On: on("b.example")}) // through something else
}

// light turns a lamp on behind the engine's back.
func (l *lamps) light(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.dark, name)
}

func TestMomentary(t *testing.T) {
	l := start(t, "a")
	_, err := l.Inject(t.Context(), fault.Request{Kind: "lamp.flash", On: on("a"), For: time.Second})
	requireRefusal(t, err, "invalid", "lamp.flash", "takes no duration")
	lease := l.inject(t, fault.Request{Kind: "lamp.flash", On: on("a")})
	if lease.State != fault.Healed || lease.Ended.IsZero() {
		t.Errorf("lease %+v", lease)
	}
	healed, err := l.Heal(t.Context(), lease.ID)
	if err != nil || healed[0].Note != "was over as soon as it was done" {
		t.Errorf("healed %+v, %v", healed, err)
	}
	l.requireEvents(t, "1<0 fault.injected a: f1: lamp.flash on vc/a")
}

func TestApplyFails(t *testing.T) {
	l := start(t, "a", "b", "c")
	broken := errors.New("the switch is broken")
	l.fail("out b", broken)
	lease, err := l.Inject(t.Context(), fault.Request{Kind: "lamp.out", On: on("*")})
	if !errors.Is(err, broken) || err.Error() != `f1: lamp.out: VM "vc/b": the switch is broken` {
		t.Errorf("err %v", err)
	}
	if r := (*fault.Refusal)(nil); errors.As(err, &r) {
		t.Error("it is a refusal, and something was touched")
	}
	if lease.State != fault.Healed || l.shining() != "a b c" {
		t.Errorf("lease %+v; %s shine", lease, l.shining())
	}
	l.requireEvents(t,
		"1<0 fault.injected f1: f1: lamp.out on vc/a, vc/b, vc/c",
		`2<1 fault.failed f1: f1: lamp.out: VM "vc/b": the switch is broken`,
		"3<1 fault.healed f1: f1: lamp.out on vc/a, vc/b, vc/c",
	)
}

// What cannot be healed is tried again, with ever longer pauses, and by hand.
func TestHealFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, "a", "b")
		l.inject(t, fault.Request{Kind: "lamp.out", On: on("*")})
		busy := errors.New("vCenter is busy")
		l.fail("light a", busy)
		healed, err := l.Heal(t.Context(), "f1")
		if !errors.Is(err, busy) || healed[0].State != fault.Failed || l.shining() != "b" {
			t.Errorf("healed %+v, %v; %s shine", healed, err, l.shining())
		}
		if targets := healed[0].Targets; targets[0].Error != "vCenter is busy" || targets[1].State != fault.Healed {
			t.Errorf("targets %+v", targets)
		}
		for _, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
			before := l.count()
			time.Sleep(wait - 1)
			synctest.Wait()
			if l.count() != before {
				t.Errorf("tried before %s were over", wait)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if l.count() != before+1 {
				t.Errorf("not tried after %s", wait)
			}
		}
		_, err = l.Inject(t.Context(), fault.Request{Kind: "lamp.out", On: on("a")})
		requireRefusal(t, err, "conflict", "f1")
		l.fail("light a", nil)
		if _, err := l.Heal(t.Context(), "f1"); err != nil || l.shining() != "a b" {
			t.Errorf("%v; %s shine", err, l.shining())
		}
		l.requireEvents(t,
			"1<0 fault.injected f1: f1: lamp.out on vc/a, vc/b",
			"2<1 fault.healed f1: f1: lamp.out on vc/a, vc/b",
			`3<2 fault.heal-failed f1: f1: lamp.out on vc/a, vc/b: VM "vc/a": vCenter is busy`,
			"4<2 fault.healed f1: f1: lamp.out on vc/a, vc/b, after all",
		)
	})
}

func eventOf(kind string) event.Event { return event.Event{Kind: kind} }

func (l *lamps) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls)
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, "a")
		l.inject(t, fault.Request{Kind: "lamp.blink", On: on("a")})
		time.Sleep(2500 * time.Millisecond)
		if _, err := l.Heal(t.Context(), "f1"); err != nil {
			t.Error(err)
		}
		l.inject(t, fault.Request{Kind: "lamp.blink", On: on("a")})
		time.Sleep(10 * time.Second)
		l.requireEvents(t,
			"1<0 fault.injected a: f1: lamp.blink on vc/a",
			"2<1 lamp.blinked a: blink 2",
			"3<1 lamp.blinked a: blink 3",
			"4<1 fault.healed a: f1: lamp.blink on vc/a",
			"5<0 fault.injected a: f2: lamp.blink on vc/a",
			"6<5 lamp.blinked a: blink 2", "7<5 lamp.blinked a: blink 3", "8<5 lamp.blinked a: blink 4", "9<5 lamp.blinked a: blink 5",
			`10<5 fault.failed a: f2: lamp.blink on vc/a stopped: VM "vc/a": burnt out`,
		)
		if lease := l.Leases()[1]; lease.State != fault.Active || lease.Targets[0].Error == "" {
			t.Errorf("lease %+v", lease)
		}
	})
}

func TestClose(t *testing.T) {
	l := start(t, "a", "b", "c")
	l.inject(t, fault.Request{Kind: "lamp.out", On: on("a"), For: time.Hour})
	l.inject(t, fault.Request{Kind: "lamp.blink", On: on("b")})
	for range 2 {
		if err := l.Close(t.Context()); err != nil || l.shining() != "a b c" {
			t.Errorf("%v; %s shine", err, l.shining())
		}
	}
	_, err := l.Inject(t.Context(), fault.Request{Kind: "lamp.out", On: on("a")})
	requireRefusal(t, err, "conflict", "being stopped")
	if got := strings.Join(l.calls[2:], ", "); got != "light b, light a" {
		t.Errorf("not the newest first: %s", got)
	}
}

func TestCloseReportsWhatIsLeft(t *testing.T) {
	l := start(t, "a", "b")
	l.inject(t, fault.Request{Kind: "lamp.out", On: on("a")})
	l.inject(t, fault.Request{Kind: "lamp.out", On: on("b")})
	stuck := errors.New("stuck")
	l.fail("light b", stuck)
	err := l.Close(t.Context())
	if !errors.Is(err, stuck) || !strings.Contains(err.Error(), "f2: lamp.out") || l.shining() != "a" {
		t.Errorf("%v; %s shine", err, l.shining())
	}
	l.fail("light b", nil)
	if err := l.Close(t.Context()); err != nil || l.shining() != "a b" {
		t.Errorf("%v; %s shine", err, l.shining())
	}
}

func TestTargetsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := make([]string, 40)
		for i := range names {
			names[i] = "lamp-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		}
		l := start(t, names...)
		l.slow = time.Second
		begin := time.Now()
		l.inject(t, fault.Request{Kind: "lamp.out", On: on("*")})
		if took := time.Since(begin); took != 3*time.Second || l.most != 16 {
			t.Errorf("took %s with %d at once", took, l.most)
		}
		// Two who heal the same at once: one does it.
		var done [2][]fault.Lease
		for i := range done {
			go func() { done[i], _ = l.Heal(t.Context(), "f1") }()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if done[0][0].State != fault.Healed || done[1][0].State != fault.Healed || len(l.calls) != 80 {
			t.Errorf("%+v after %d calls", done, len(l.calls))
		}
	})
}

// A step that hangs is given up.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, "a")
		l.slow = time.Hour
		_, err := l.Inject(t.Context(), fault.Request{Kind: "lamp.out", On: on("a")})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err %v", err)
		}
		l.mu.Lock()
		l.slow = 0
		l.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := l.Leases()[0].State; s != fault.Healed {
			t.Errorf("it is %s", s)
		}
	})
}

func TestJournal(t *testing.T) {
	l := start(t, "a", "b")
	l.inject(t, fault.Request{Kind: "lamp.out", On: on("a", "b"), Seed: 5})
	l.light("a")
	l.inject(t, fault.Request{Kind: "lamp.cold", On: on("a")})
	if _, err := l.Heal(t.Context(), "f2"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "leases.jsonl")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(l.journal.String() + `{"lease":"f3","kind":"lam`)
	records, err := fault.ReadJournal(path)
	if err != nil || len(records) != 1 {
		t.Fatalf("%+v, %v", records, err)
	}
	r := records[0]
	if r.Lease.ID != "f1" || r.Lease.Kind != "lamp.out" || r.Lease.Seed != 5 || len(r.Lease.Targets) != 2 {
		t.Errorf("%+v", r)
	}
	if strings.Contains(l.journal.String(), "Dark") {
		t.Errorf("a state is in clear: %s", l.journal)
	}

	// Another engine, after a crash of the first, heals what that one has left.
	stranger, err := secret.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	for _, sealer := range []fault.Sealer{nil, stranger} {
		other := fault.NewEngine(fault.Options{Ground: &fault.Ground{Items: l.items}, Kinds: l.kinds(), Sealer: sealer})
		if err := other.Adopt(records); err == nil || !strings.HasPrefix(err.Error(), "lease f1: state of ") || len(other.Leases()) != 0 {
			t.Errorf("adopted without the key: %v, %+v", err, other.Leases())
		}
	}
	next := fault.NewEngine(fault.Options{Ground: &fault.Ground{Items: l.items}, Kinds: l.kinds(), Sealer: l.sealer})
	if err := next.Adopt(records); err != nil {
		t.Fatal(err)
	}
	if healed, err := next.HealAll(t.Context()); err != nil || len(healed) != 1 || l.shining() != "a b" {
		t.Errorf("%+v, %v; %s shine", healed, err, l.shining())
	}
	if lease, err := next.Inject(t.Context(), fault.Request{Kind: "lamp.out", On: on("a")}); err != nil || lease.ID != "f2" {
		t.Errorf("the next lease is %+v, %v", lease, err)
	}
	if err := next.Close(t.Context()); err != nil {
		t.Error(err)
	}

	write("nonsense\n")
	if _, err := fault.ReadJournal(path); err == nil || !strings.Contains(err.Error(), "leases.jsonl:1: ") {
		t.Errorf("nonsense: %v", err)
	}
	if records, err := fault.ReadJournal(path + "x"); err != nil || records != nil {
		t.Errorf("no file: %v, %v", records, err)
	}
}

// Without a journal nothing may be broken: there would be no way back.
func TestJournalFails(t *testing.T) {
	l := newLamps("a")
	sealer, err := secret.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer sealer.Close()
	var unsealed bytes.Buffer
	for name, tc := range map[string]struct {
		journal io.Writer
		sealer  fault.Sealer
		want    func(error) bool
	}{
		"full":   {full{}, sealer, func(err error) bool { return errors.Is(err, errFull) }},
		"no key": {&unsealed, nil, func(err error) bool { return err != nil && strings.Contains(err.Error(), "nothing to seal") }},
	} {
		e := fault.NewEngine(fault.Options{Ground: &fault.Ground{Items: l.items}, Kinds: l.kinds(), Journal: tc.journal, Sealer: tc.sealer})
		_, err := e.Inject(t.Context(), fault.Request{Kind: "lamp.out", On: on("a")})
		if !tc.want(err) || l.shining() != "a" || len(e.Leases()) != 0 {
			t.Errorf("%s: %v; %s shine; leases %+v", name, err, l.shining(), e.Leases())
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if unsealed.Len() > 0 {
		t.Errorf("written without a key: %s", unsealed.String())
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func BenchmarkInject(b *testing.B) {
	l := start(b, "a", "b", "c", "d", "e", "f")
	for b.Loop() {
		lease := l.inject(b, fault.Request{Kind: "lamp.out", On: on("a")})
		if _, err := l.Heal(b.Context(), lease.ID); err != nil {
			b.Fatal(err)
		}
	}
}

// What is being applied when the engine is closed is given up, and nothing is left of it.
func TestCloseWhileApplying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, "a")
		l.slow = time.Minute
		done := make(chan error, 1)
		go func() {
			_, err := l.Inject(t.Context(), fault.Request{Kind: "lamp.out", On: on("a")})
			done <- err
		}()
		time.Sleep(time.Second)
		l.mu.Lock()
		l.slow = 0
		l.mu.Unlock()
		begin := time.Now()
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, context.Canceled) || time.Since(begin) > 0 || l.shining() != "a" {
			t.Errorf("%v after %s; %s shine", err, time.Since(begin), l.shining())
		}
		if lease, ok := l.Lease("f1"); !ok || lease.State != fault.Healed {
			t.Errorf("lease %+v", lease)
		}
	})
}

func TestErrorsNameTheirTarget(t *testing.T) {
	for words, want := range map[string]string{
		"lamp is stuck":      `VM "vc/a": lamp is stuck`,
		"vm a is stuck":      "vm a is stuck",
		"nobody can reach a": "nobody can reach a",
		"it is stuck, A.":    "it is stuck, A.",
		"a-1 and b.a":        `VM "vc/a": a-1 and b.a`,
	} {
		l := start(t, "a")
		l.fail("out a", errors.New(words))
		_, err := l.Inject(t.Context(), fault.Request{Kind: "lamp.out", On: on("a")})
		if err == nil || err.Error() != "f1: lamp.out: "+want {
			t.Errorf("%q is %v", words, err)
		}
	}
}
