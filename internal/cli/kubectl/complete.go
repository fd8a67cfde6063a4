package kubectl

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

// completion asks kubectl itself, whose hidden command answers with one word a line (and a tab and what it is), and
// last a colon and the directive.
func completion(ctx context.Context, o *options, typed string) ([]string, cobra.ShellCompDirective) {
	// Without a sandbox kubectl must not ask whatever cluster the user works with.
	if err := o.aim(ctx); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out bytes.Buffer
	args := append(append([]string{cobra.ShellCompRequestCmd}, o.args...), typed)
	if o.main(&iostreams.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard}, args) != 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words, last, found := cutLast(strings.TrimSpace(out.String()), ":")
	directive, err := strconv.Atoi(last)
	if !found || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return strings.FieldsFunc(words, func(r rune) bool { return r == '\n' }), cobra.ShellCompDirective(directive)
}

// cutLast cuts s at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
