package inventory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/tagged"
)

// tagging implements the part of the tagging API that the reader uses: two categories with two tags each.
type tagging struct {
	asked map[string]int // by path
	gone  string         // answered with 404
	other string         // the category that has the name of urn:c3
}

func (s *tagging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := r.URL.Path
	s.asked[p]++
	_, id, _ := strings.Cut(p, "/id:")
	switch {
	case id != "" && id == s.gone:
		http.NotFound(w, r)
	case strings.HasSuffix(p, "/tagging/category"):
		fmt.Fprint(w, `{"value": ["urn:c1", "urn:c2"]}`)
	case strings.Contains(p, "/tagging/category/") && id == s.other:
		fmt.Fprintf(w, `{"value": {"id": %q, "name": "name-urn:c3"}}`, id)
	case strings.Contains(p, "/tagging/category/"):
		fmt.Fprintf(w, `{"value": {"id": %q, "name": "name-%s"}}`, id, id)
	case r.Method == http.MethodPost && strings.Contains(p, "/tagging/tag/"):
		fmt.Fprintf(w, `{"value": ["%s-a", "%s-b"]}`, id, id)
	case strings.Contains(p, "/tagging/tag/"):
		fmt.Fprintf(w, `{"value": {"id": %q, "name": "name-%s"}}`, id, id)
	default:
		fmt.Fprint(w, `{"value": [{"tag_id": "urn:c1-a", "object_ids": [{"id": "host-1", "type": "HostSystem"}]}]}`)
	}
}

// What was read before a failing call is not read again: a vCenter with frequent failures is read eventually. If an object does not
// exist, everything is read again.
func TestTagsKeptAcrossErrors(t *testing.T) {
	s := &tagging{asked: map[string]int{}}
	server := httptest.NewServer(s)
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	m := tags.NewManager(rest.NewClient(&vim25.Client{Client: soap.NewClient(u, true)}))
	left := 0
	busy := errors.New("busy")
	call := func(ctx context.Context, f func(context.Context, *tags.Manager) error) error {
		if left--; left < 0 {
			return busy
		}
		return f(ctx, m)
	}
	var r tagged.Reader
	read := func(calls int) ([]tagged.Objects, error) {
		left = calls
		return r.Read(t.Context(), call, "name-urn:c1", "name-urn:c2")
	}
	// 10 calls without an interruption, each repeated list counted once more.
	for n := 1; ; n++ {
		got, err := read(4)
		if err == nil {
			if names := got[0][ref("HostSystem", "host-1")]; len(names) != 1 || names[0] != "name-urn:c1-a" {
				t.Errorf("got %v", got)
			}
			break
		}
		if !errors.Is(err, busy) || n == 9 {
			t.Fatalf("reading %d: %v", n, err)
		}
	}
	names := func() (n int) {
		for path, times := range s.asked {
			if strings.Contains(path, "/tagging/tag/id:") || strings.Contains(path, "/tagging/category/") {
				n += times
			}
		}
		return n
	}
	before := names()
	if _, err := read(3); err != nil {
		t.Errorf("reading with everything known: %v", err)
	}
	if n := names() - before; n != 2 { // the two lists of tags
		t.Errorf("%d calls by id, want 2", n)
	}
	s.gone = "urn:c2"
	if _, err := read(100); err == nil {
		t.Error("a category that is gone is no error")
	}
	s.gone, before = "", names()
	if _, err := read(100); err != nil {
		t.Error(err)
	}
	if n := names() - before; n != 2+2+4 {
		t.Errorf("%d calls by id after a category was gone, want all 8", n)
	}

	// A category that does not exist costs the list of categories, and is no reason to read every few seconds.
	index := tagIndex{reader: r, cfg: Config{Categories: Categories{Region: "name-urn:c3", Zone: "name-urn:c1"}}}
	before, left = names(), 100
	_, err = index.read(t.Context(), call)
	if n := names() - before; err == nil || n != 1 || passing(err) {
		t.Errorf("%d calls by id, %v", n, err)
	}
	// An existing category may get the name without an event: the next read reads the names again.
	s.other = "urn:c2"
	if _, err := index.read(t.Context(), call); err != nil {
		t.Errorf("a category was renamed to what was missing: %v", err)
	}
	if !passing(busy) || passing(nil) {
		t.Error("what may soon be over")
	}
}
