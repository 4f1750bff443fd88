package engine

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// process identifies a process of the operating system, also after its end: a
// number is used again, but not with the same start time.
type process struct {
	pid   int
	start uint64 // as the system counts it; 0 where it cannot be read
}

func thisProcess() process {
	pid := os.Getpid()
	start, _, _ := startTime(pid)
	return process{pid, start}
}

// same reports whether both are one process, as far as can be told.
func (p process) same(o process) bool {
	return p.pid == o.pid && (p.start == o.start || p.start == 0 || o.start == 0)
}

// alive reports whether the process still runs. Where no start time can be read, its number alone decides.
func (p process) alive() bool {
	if p.pid <= 0 {
		return false
	}
	if start, running, ok := startTime(p.pid); ok {
		return running && p.same(process{p.pid, start})
	}
	found, err := os.FindProcess(p.pid)
	if err != nil {
		return false
	}
	defer found.Release()
	if runtime.GOOS == "windows" { // finds only what runs
		return true
	}
	err = found.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// startTime reads when a process started, in the system's ticks, from /proc.
// running is false for one that has ended and was not waited for yet.
func startTime(pid int) (start uint64, running, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false, false
	}
	// The second field is the command in parentheses, and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, starttime = 0, 19 // fields 3 and 22 of the file
	if len(fields) <= starttime || len(fields[state]) != 1 {
		return 0, false, false
	}
	start, err = strconv.ParseUint(string(fields[starttime]), 10, 64)
	return start, fields[state][0] != 'Z' && fields[state][0] != 'X', err == nil
}
