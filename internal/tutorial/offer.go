package tutorial

import (
	"fmt"
	"strings"
)

// Offer is something to break beside the way, and how it is put right. Pages do not show it; who is guided is asked.
type Offer struct {
	Line    int    // of its first comment
	Command string // breaks it
	About   string // what the reader is asked, such as "Does a node notice that its vCenter is silent?"
	Look    string // a command to look at it with; empty for none
	Undo    string // puts it right
	Why     string // what the reader has seen, told before it is put right; empty for none
}

// offers are the directives of offers; the first begins one.
func offers() []string { return []string{"offer", "about", "look", "undo", "why"} }

// directive takes in one comment of an offer, which is one of those that stand together.
func (o *Offer) directive(text string) error {
	word, value, _ := strings.Cut(text, ":")
	field := map[string]*string{"offer": &o.Command, "about": &o.About, "look": &o.Look, "undo": &o.Undo, "why": &o.Why}[word]
	value = strings.TrimSpace(value)
	switch {
	case field == nil:
		return fmt.Errorf("%q: write \"offer: COMMAND\", and below it \"about: WORDS\", \"look: COMMAND\", \"why: WORDS\" and \"undo: COMMAND\"", text)
	case value == "":
		return fmt.Errorf("%q: nothing is said; write \"%s: …\"", text, word)
	case *field != "":
		return fmt.Errorf("%q: there is one already", text)
	case word != "offer" && o.Command == "":
		return fmt.Errorf("%q: an offer begins with \"offer: COMMAND\"", text)
	}
	*field = value
	return nil
}

// whole says what an offer lacks.
func (o *Offer) whole() error {
	if o.Undo == "" {
		return fmt.Errorf("the offer has no \"undo: COMMAND\", which puts it right")
	}
	return nil
}
