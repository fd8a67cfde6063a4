package tree

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// MaxPage is the number of objects on a page, if a request names no smaller one.
const MaxPage = 1000

// Page selects a part of a list. The zero value is the first page.
type Page struct {
	// Cursor is that of the page before.
	Cursor string
	// Size is at most [MaxPage]; 0 means that.
	Size int
	// SortBy is a field; "" means display_name. Objects with the same value are in the order of their paths.
	SortBy     string
	Descending bool
	// Fields are the only ones of the answer, beside id, path and resource_type. Empty: all.
	Fields []string
	// Deleted includes objects that are marked for deletion.
	Deleted bool
}

// Result is a page of objects.
type Result struct {
	Objects []Object
	// Count is the number of objects on all pages.
	Count int
	// Cursor is for the next page; "" on the last page.
	Cursor     string
	SortBy     string
	Descending bool
}

// JSON returns the page as NSX does.
func (r Result) JSON() Object {
	results := make([]any, len(r.Objects))
	for i, o := range r.Objects {
		results[i] = o
	}
	o := Object{"results": results, "result_count": int64(r.Count), "sort_by": r.SortBy, "sort_ascending": !r.Descending}
	if r.Cursor != "" {
		o["cursor"] = r.Cursor
	}
	return o
}

// List returns a page of the objects of a collection.
func (t *Tree) List(collection string, p Page) (Result, error) {
	if !t.IsCollection(collection) {
		return Result{}, badPath(collection)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(time.Now())
	if parent, _ := split(collection + "/x"); parent != root && (t.nodes[parent] == nil || t.nodes[parent].gone) {
		return Result{}, missing(parent)
	}
	var all []*node
	for _, n := range t.nodes {
		if rest, ok := strings.CutPrefix(n.path, collection+"/"); ok && !strings.Contains(rest, "/") && (p.Deleted || !n.gone) {
			all = append(all, n)
		}
	}
	return t.page(all, p)
}

// page returns a page of nodes.
func (t *Tree) page(all []*node, p Page) (Result, error) {
	p.SortBy = cmp.Or(p.SortBy, fieldName)
	if p.Size <= 0 || p.Size > MaxPage {
		p.Size = MaxPage
	}
	type keyed struct {
		key string
		*node
	}
	sorted := make([]keyed, len(all))
	for i, n := range all {
		// A separator that sorts before all else keeps the order of the values; paths make keys different.
		sorted[i] = keyed{fmt.Sprintf("%v\x00%s", n.object[p.SortBy], n.path), n}
	}
	compare := func(a, b string) int {
		if p.Descending {
			a, b = b, a
		}
		return strings.Compare(a, b)
	}
	slices.SortFunc(sorted, func(a, b keyed) int { return compare(a.key, b.key) })
	r := Result{Count: len(sorted), SortBy: p.SortBy, Descending: p.Descending}
	if p.Cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		if err != nil {
			return Result{}, &Error{http.StatusBadRequest, 253, common, fmt.Sprintf("The cursor %q is none of this list.", p.Cursor)}
		}
		// An object may have been deleted between two pages: the cursor is a place, and no index.
		start, _ := slices.BinarySearchFunc(sorted, string(after), func(k keyed, after string) int {
			if compare(k.key, after) <= 0 {
				return -1
			}
			return 1
		})
		sorted = sorted[start:]
	}
	if len(sorted) > p.Size {
		r.Cursor = base64.RawURLEncoding.EncodeToString([]byte(sorted[p.Size-1].key))
		sorted = sorted[:p.Size]
	}
	r.Objects = make([]Object, len(sorted))
	for i, k := range sorted {
		r.Objects[i] = only(t.show(k.node), p.Fields)
	}
	return r, nil
}

// only returns an object with those of its fields that are asked for.
func only(o Object, names []string) Object {
	if len(names) == 0 {
		return o
	}
	short := Object{"id": o["id"], "path": o["path"], fieldType: o[fieldType]}
	for _, name := range names {
		if v, ok := o[name]; ok {
			short[name] = v
		}
	}
	return short
}
