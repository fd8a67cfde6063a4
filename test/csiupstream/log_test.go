package csiupstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"time"
)

// line is one of a program's log.
type line struct {
	Level  string    `json:"level"`
	Time   time.Time `json:"time"`
	Caller string    `json:"caller"`
	Text   string    `json:"msg"`
}

// lines reads the log.
func (p *part) lines() ([]line, error) {
	log, err := os.ReadFile(p.log)
	if err != nil {
		return nil, err
	}
	var all []line
	scan := bufio.NewScanner(bytes.NewReader(log))
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var l line
		if json.Unmarshal(scan.Bytes(), &l) != nil {
			l = ofLibrary(scan.Text())
		}
		if n := len(all); l.Time.IsZero() && n > 0 {
			l.Time = all[n-1].Time
		}
		all = append(all, l)
	}
	return all, scan.Err()
}

// ofLibrary parses a line of Kubernetes' libraries ("E1122 00:14:43.815004 32169 reflector.go:204] …"). A line without a
// prefix, as of a panic, is an error.
func ofLibrary(text string) line {
	l := line{Level: "error", Text: text}
	if len(text) < 21 || text[0] == ' ' || text[0] == '\t' {
		return l
	}
	at, err := time.ParseInLocation("20060102 15:04:05.000000", time.Now().Format("2006")+text[1:21], time.Local)
	if err != nil {
		return l
	}
	l.Time = at
	if words := map[byte]string{'I': "info", 'W': "warn", 'E': "error", 'F': "fatal"}; words[text[0]] != "" {
		l.Level = words[text[0]]
	}
	return l
}

// complaints are the errors and warnings of a program since a time, without its habits.
func (w *world) complaints(p *part, since time.Time) []line {
	w.t.Helper()
	all, err := p.lines()
	if err != nil {
		w.t.Fatal(err)
	}
	var found []line
	for _, l := range all {
		if l.Time.Before(since) || l.Level == "info" || l.Level == "debug" || excused(l.Text, habits()) {
			continue
		}
		found = append(found, l)
	}
	return found
}

func excused(text string, known []string) bool {
	for _, words := range known {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// report logs what a program complained of.
func (w *world) report(p *part) {
	for _, l := range w.complaints(p, time.Time{}) {
		w.t.Logf("%s, %s %s %s: %.1000s", p.name, l.Time.Format(time.TimeOnly), l.Level, l.Caller, l.Text)
	}
}
