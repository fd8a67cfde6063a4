package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

//go:embed assets
var assets embed.FS

// Write writes the page.
func Write(w io.Writer, s *result.Suite) error {
	t, err := template.New("page").Funcs(template.FuncMap{"half": func(f float64) float64 { return f / 2 }}).ParseFS(assets, "assets/*.tmpl")
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	css, err := asset("page.css")
	if err != nil {
		return err
	}
	js, err := asset("page.js")
	if err != nil {
		return err
	}
	v := view(s)
	v.CSS, v.JS = template.CSS(css), template.JS(js)
	v.Policy = fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'", hash(css), hash(js))
	return t.ExecuteTemplate(w, "page.tmpl", v)
}

func asset(name string) (string, error) {
	b, err := assets.ReadFile("assets/" + name)
	return strings.TrimSpace(string(b)), err
}

// hash is how a policy names a text that it allows.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
