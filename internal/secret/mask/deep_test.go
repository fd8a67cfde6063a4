package mask

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type word string

type tree struct {
	Name  string
	Word  word
	When  time.Time
	Raw   []byte
	Names map[string]string
	Any   any
	Next  *tree
	All   []tree
	N     int
}

func TestDeep(t *testing.T) {
	var m Mask
	m.Add("value", "hunter2!", "failed")
	at := time.Date(2026, 11, 27, 1, 2, 3, 4, time.UTC)
	was := tree{
		Name: "the value is hunter2!", Word: "failed", When: at, Raw: []byte("a value"), Names: map[string]string{"value": "value"}, Any: tree{Name: "value"},
		Next: &tree{Name: "value"}, All: []tree{{Name: "fine"}, {Name: "value", N: 7}}, N: 3,
	}
	want := tree{
		Name: "the " + Text + " is " + Text, Word: "failed", When: at, Raw: []byte("a " + Text), Names: map[string]string{"value": Text}, Any: tree{Name: Text},
		Next: &tree{Name: Text}, All: []tree{{Name: "fine"}, {Name: Text, N: 7}}, N: 3,
	}
	if diff := cmp.Diff(&want, Deep(&m, &was)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if was.Next.Name != "value" || was.Names["value"] != "value" || was.All[1].Name != "value" {
		t.Errorf("the original has changed: %+v", was)
	}
	if got := Deep(&m, (*tree)(nil)); got != nil {
		t.Error(got)
	}
}
