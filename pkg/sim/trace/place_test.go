package trace

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// limited takes so many bytes, and then fails.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errors.New("the disk is full")
	}
	return l.Buffer.Write(p)
}

// The place of the newest call of each kind is that of its line, also of lines longer than a block.
func TestLast(t *testing.T) {
	file := &limited{left: 2 << 20}
	r := NewRecorder(file)
	add := func(vcenter, client, method string, size int) {
		r.add(vcenter, gate.Exchange{Call: gate.Call{Client: client, Method: method}, Answer: bytes.Repeat([]byte("a"), size)})
	}
	type want struct{ vcenter, client, method string }
	all := []want{{"us", "ccm", "Login"}, {"us", "ccm", "FindByUuid"}, {"eu", "ccm", "Login"}, {"eu", "csi", "Login"}, {"us", "ccm", "FindByUuid"}}
	for i, w := range all {
		add(w.vcenter, w.client, w.method, i*block/2)
	}
	if _, err := r.Wait(t.Context(), len(all)-1); err != nil {
		t.Fatal(err)
	}
	for w, number := range map[want]int{{}: 5, {vcenter: "us"}: 5, {vcenter: "eu"}: 4, {client: "ccm", method: "Login"}: 3, {"us", "ccm", "Login"}: 1, {"us", "csi", "Login"}: 0} {
		p, ok := r.Last(w.vcenter, w.client, w.method)
		if p.Number != number || ok != (number > 0) {
			t.Errorf("%+v: call %d, %t; want %d", w, p.Number, ok, number)
		}
		if !ok {
			continue
		}
		line := file.Bytes()[p.Offset : p.Offset+p.Size]
		if err := Read(bytes.NewReader(line), func(c Call) error {
			if got := (want{c.VCenter, c.Client, c.Method}); got != all[number-1] {
				return fmt.Errorf("call %d is %+v, want %+v", number, got, all[number-1])
			}
			return nil
		}); err != nil || bytes.Count(line, []byte("\n")) != 1 || line[p.Size-1] != '\n' {
			t.Errorf("%+v: %v: %d bytes from %d are not one line", w, err, p.Size, p.Offset)
		}
	}
	// What could not be written has no place, and what is written after it has none that is known.
	add("us", "ccm", "Logout", 2<<20)
	if err := r.Close(); err == nil {
		t.Error("no error of the full disk")
	}
	if p, ok := r.Last("us", "ccm", "Logout"); ok {
		t.Errorf("the call that was not written is at %+v", p)
	}
}

// Clients that invent names cost no memory without end; the newest kinds are kept.
func TestPlacesAreLimited(t *testing.T) {
	p := places{by: map[kind]Place{}}
	const calls = maxPlaces + 10
	for i := range calls {
		p.add(kind{client: fmt.Sprint(i)}, 10)
	}
	if len(p.by) != maxPlaces {
		t.Errorf("%d kinds", len(p.by))
	}
	if got := p.find(kind{client: "9"}); got.Number != 0 {
		t.Errorf("the oldest are kept: %+v", got)
	}
	if got, want := p.find(kind{client: "10"}), (Place{11, 100, 10}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := p.find(kind{}), (Place{calls, 10 * (calls - 1), 10}); got != want {
		t.Errorf("the newest of all is %+v, want %+v", got, want)
	}
}
