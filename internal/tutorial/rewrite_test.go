package tutorial

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ want, got, merged []string }{
		"first time": {
			nil,
			[]string{"NAME  AGE   UID", "a     12s   pvc-34991c50-1111-2222-3333-444455556666", "b     3m5s  x"},
			[]string{"NAME  AGE   UID", "a     …     pvc-…", "b     …     x"},
		},
		"patterns stay":  {[]string{"a …", "b"}, []string{"a 1", "c"}, []string{"a …", "c"}},
		"words stay":     {[]string{"a … old"}, []string{"a 17 new"}, []string{"a … new"}},
		"a line is gone": {[]string{"a", "b", "c"}, []string{"a", "c"}, []string{"a", "c"}},
		"a line is new":  {[]string{"a", "c"}, []string{"a", "b", "c"}, []string{"a", "b", "c"}},
		"gaps stay":      {[]string{"a", "…", "z"}, []string{"a", "1", "2", "z"}, []string{"a", "…", "z"}},
		"a gap swallows only what it may": {
			[]string{"a", "…", "y"}, []string{"a", "1", "2", "z"}, []string{"a", "…", "z"},
		},
		"nothing any more": {[]string{"a", "b"}, nil, nil},
		"times":            {nil, []string{"at 14:10:04.401 on 127.0.0.1:6443, #17, 0:21/1:09"}, []string{"at … on …, #…, …"}},
	} {
		t.Run(name, func(t *testing.T) {
			merged := merge(lines(c.want), c.got)
			if diff := cmp.Diff(c.merged, merged); diff != "" {
				t.Error(diff)
			}
			// What has been written is what is expected next time.
			if i, _ := compare(lines(merged), c.got, false); i >= 0 {
				t.Errorf("line %d of what was made does not fit the output it was made from", i)
			}
		})
	}
}

// Only what does not hold is touched.
func TestRewrite(t *testing.T) {
	const text = "# T\r\n\n~~~console\n$ a\n> b\nold   …\n$ c\nx    …  y\n$ d\n~~~\nend"
	p := page(t, text)
	got := Rewrite(p, map[int]Result{4: {Output: "new\nand more\n"}, 7: {Output: "x 1 y\n"}, 9: {Output: "first\n"}})
	want := "# T\n\n~~~console\n$ a\n> b\nnew\nand more\n$ c\nx    …  y\n$ d\nfirst\n~~~\nend"
	if diff := cmp.Diff(strings.ReplaceAll(want, "~~~", "```"), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(strings.Join(p.lines, "\n"), Rewrite(p, nil)); diff != "" {
		t.Errorf("nothing was run: %s", diff)
	}
}
